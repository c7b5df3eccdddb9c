//! Kernel arguments: how they are written in launch files and on the command line, and how they are
//! laid out in the kernel's parameter space.

use std::fmt;

use cubin::Kernel;
use reference::{ElementType, Initializer, Number, initialize};

use super::buffer::{Buffer, element_names, parse_buffer};
use super::document::{Reading, Value, one_of};
use super::texture::TextureObject;

/// One argument of a launch.
#[derive(Debug, Clone, PartialEq)]
pub enum Argument {
    /// The device address of a buffer plus an offset.
    Buffer {
        /// Position of the buffer in the workload.
        buffer: usize,
        /// Bytes from its first byte.
        offset: u64,
    },
    /// The handle of a texture or surface.
    Texture {
        /// Its position in the workload's objects.
        object: usize,
    },
    /// A number.
    Scalar {
        /// Its type.
        element: ElementType,
        /// Its value.
        value: Number,
    },
    /// Bytes as they are: a structure passed by value.
    Bytes(Vec<u8>),
}

impl Argument {
    /// Bytes of the argument.
    pub fn size(&self) -> usize {
        match self {
            Argument::Buffer { .. } | Argument::Texture { .. } => 8,
            Argument::Scalar { element, .. } => element.size(),
            Argument::Bytes(bytes) => bytes.len(),
        }
    }
}

impl fmt::Display for Argument {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Argument::Buffer { .. } => formatter.write_str("a buffer"),
            Argument::Texture { .. } => formatter.write_str("a texture or surface"),
            Argument::Scalar { element, value } => write!(formatter, "`{element}` {value}"),
            Argument::Bytes(_) => formatter.write_str("bytes"),
        }
    }
}

/// Arguments that do not fit the kernel's parameters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    /// Too few or too many.
    #[error(
        "kernel `{kernel}` takes {parameters} parameter{} ({}), {arguments} argument{} given",
        plural(*.parameters), list_sizes(.sizes), if *.arguments == 1 { " is" } else { "s are" }
    )]
    Count {
        /// The kernel.
        kernel: String,
        /// How many parameters it has.
        parameters: usize,
        /// Their sizes in bytes.
        sizes: Vec<u32>,
        /// How many arguments there are.
        arguments: usize,
    },
    /// An argument of another size than its parameter.
    #[error(
        "argument {position} of kernel `{kernel}` ({argument}) has {found} bytes, its parameter \
         has {expected}: {}", fitting(*.expected)
    )]
    Size {
        /// The kernel.
        kernel: String,
        /// Position, from 0.
        position: usize,
        /// What the argument is.
        argument: String,
        /// Bytes of the argument.
        found: usize,
        /// Bytes of the parameter.
        expected: u32,
    },
    /// A number that its type does not hold.
    #[error("argument {position} of kernel `{kernel}`: {reason}")]
    Value {
        /// The kernel.
        kernel: String,
        /// Position, from 0.
        position: usize,
        /// What is wrong.
        reason: String,
    },
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn list_sizes(sizes: &[u32]) -> String {
    let list: Vec<String> = sizes.iter().map(u32::to_string).collect();
    if list.is_empty() {
        "none".to_owned()
    } else {
        format!("{} bytes", list.join(", "))
    }
}

fn fitting(size: u32) -> &'static str {
    match size {
        1 => "i8, u8 or `bytes` of 1",
        2 => "i16, u16, f16 or `bytes` of 2",
        4 => "i32, u32, f32 or `bytes` of 4",
        8 => "a buffer, texture, surface, i64, u64, f64 or `bytes` of 8",
        _ => "that many `bytes`",
    }
}

/// Lays the arguments out as the kernel's parameter space. `addresses[i]` is the device address of
/// buffer i, `handles[i]` the handle of texture or surface i.
///
/// # Errors
/// If count, a size or a value does not fit the kernel's parameters.
pub fn pack(
    arguments: &[Argument],
    kernel: &Kernel,
    addresses: &[u64],
    handles: &[u64],
) -> Result<Vec<u8>, ArgumentError> {
    if arguments.len() != kernel.parameters.len() {
        return Err(ArgumentError::Count {
            kernel: kernel.name.clone(),
            parameters: kernel.parameters.len(),
            sizes: kernel
                .parameters
                .iter()
                .map(|parameter| parameter.size)
                .collect(),
            arguments: arguments.len(),
        });
    }
    let mut packed = vec![0u8; kernel.parameter_size as usize];
    for (position, (argument, parameter)) in arguments.iter().zip(&kernel.parameters).enumerate() {
        if argument.size() != parameter.size as usize {
            return Err(ArgumentError::Size {
                kernel: kernel.name.clone(),
                position,
                argument: argument.to_string(),
                found: argument.size(),
                expected: parameter.size,
            });
        }
        let wrong = |reason: String| ArgumentError::Value {
            kernel: kernel.name.clone(),
            position,
            reason,
        };
        let bytes = match argument {
            Argument::Buffer { buffer, offset } => {
                let base = addresses.get(*buffer).copied().unwrap_or(0);
                base.wrapping_add(*offset).to_le_bytes().to_vec()
            }
            Argument::Texture { object } => {
                let handle = handles.get(*object).copied().unwrap_or(0);
                handle.to_le_bytes().to_vec()
            }
            Argument::Scalar { element, value } => {
                initialize(&Initializer::Fill(*value), *element, 1)
                    .map_err(|error| wrong(error.to_string()))?
            }
            Argument::Bytes(bytes) => bytes.clone(),
        };
        let start = parameter.offset as usize;
        packed
            .get_mut(start..start + bytes.len())
            .ok_or_else(|| wrong("the parameter lies outside the parameter space".to_owned()))?
            .copy_from_slice(&bytes);
    }
    Ok(packed)
}

const EXPECTED: &str = "the name of a buffer, texture or surface, a number with its type as in `{ i32 = 5 }`, \
                        `{ buffer = \"a\", offset = 16 }` or `{ bytes = \"00ff\" }`";

/// Reads one entry of `args`.
pub(crate) fn read_argument(
    value: &Value<'_>,
    buffers: &[Buffer],
    objects: &[TextureObject],
) -> Reading<Argument> {
    if let Some(name) = value.as_string() {
        if let Some(object) = objects.iter().position(|object| object.name == name) {
            return Ok(Argument::Texture { object });
        }
        if !objects.is_empty() && !buffers.iter().any(|buffer| buffer.name == name) {
            let buffers = buffers.iter().map(|buffer| buffer.name.as_str());
            let objects = objects.iter().map(|object| object.name.as_str());
            let names: Vec<&str> = buffers.chain(objects).collect();
            return Err(value.error(format!("the name `{name}`"), one_of(&names)));
        }
        return Ok(Argument::Buffer {
            buffer: find_buffer(value, name, buffers)?,
            offset: 0,
        });
    }
    let table = value.table(EXPECTED)?;
    if let Some(buffer) = table.get("buffer") {
        table.only(&["buffer", "offset"])?;
        let position = find_buffer(&buffer, buffer.string("the name of a buffer")?, buffers)?;
        let size = buffers[position].bytes();
        let offset = match table.get("offset") {
            Some(offset) => offset.integer(0..=size, &format!("an offset of at most {size}"))?,
            None => 0,
        };
        return Ok(Argument::Buffer {
            buffer: position,
            offset,
        });
    }
    let entries = table.entries();
    let [(name, entry)] = entries.as_slice() else {
        return Err(value.error(format!("a table of {} keys", entries.len()), EXPECTED));
    };
    if *name == "bytes" {
        let text = entry.string("hexadecimal digits")?;
        return parse_hex(text)
            .map(Argument::Bytes)
            .ok_or_else(|| entry.error(format!("`{text}`"), "pairs of hexadecimal digits"));
    }
    let Ok(element) = name.parse::<ElementType>() else {
        return Err(entry.error(format!("the type `{name}`"), element_names()));
    };
    let number = entry.number("a number")?;
    if !element.holds(number) {
        return Err(entry.error(number.to_string(), format!("a number that {element} holds")));
    }
    Ok(Argument::Scalar {
        element,
        value: number,
    })
}

pub(crate) fn find_buffer(value: &Value<'_>, name: &str, buffers: &[Buffer]) -> Reading<usize> {
    buffers
        .iter()
        .position(|buffer| buffer.name == name)
        .ok_or_else(|| {
            let names: Vec<&str> = buffers.iter().map(|buffer| buffer.name.as_str()).collect();
            value.error(format!("the buffer name `{name}`"), one_of(&names))
        })
}

fn parse_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .chars()
        .map(|digit| digit.to_digit(16).map(|d| d as u8))
        .collect::<Option<_>>()?;
    if !digits.len().is_multiple_of(2) || digits.len() > 2 * 4096 {
        return None;
    }
    Some(
        digits
            .chunks(2)
            .map(|pair| pair[0] << 4 | pair[1])
            .collect(),
    )
}

/// A command-line argument that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("argument `{text}`: {found}; expected {expected}")]
pub struct ArgumentSyntaxError {
    /// The argument as given.
    pub text: String,
    /// What is wrong with it.
    pub found: String,
    /// What would be right.
    pub expected: String,
}

/// How arguments are written on the command line.
pub const ARGUMENT_SYNTAX: &str = "\
TYPE:VALUE (i32:5, f32:1.5, u64:0x10), bytes:HEX, [NAME=]TYPE:COUNT:INIT (a new buffer; INIT is \
zero, fill(v), iota(start,step), random(seed,low,high), values(a,b,…), ring(seed,stride) or \
@file.bin), or the NAME of an earlier buffer";

/// Reads one `--arg`. A new buffer is appended to `buffers`.
///
/// # Errors
/// If the text is none of the forms of [`ARGUMENT_SYNTAX`].
pub fn parse_argument(
    text: &str,
    position: usize,
    buffers: &mut Vec<Buffer>,
) -> Result<Argument, ArgumentSyntaxError> {
    let wrong = |found: String, expected: String| ArgumentSyntaxError {
        text: text.to_owned(),
        found,
        expected,
    };
    let (name, rest) = match text.split_once('=') {
        Some((name, rest)) if !name.contains([':', '(']) => (Some(name), rest),
        _ => (None, text),
    };
    if let Some(name) = name {
        let ordinary = |c: char| c.is_alphanumeric() || "_-.".contains(c);
        if name.is_empty() || !name.chars().all(ordinary) {
            return Err(wrong(
                format!("the buffer name `{name}`"),
                "a name of letters, digits, `_`, `-` and `.`".to_owned(),
            ));
        }
        if buffers.iter().any(|buffer| buffer.name == name) {
            return Err(wrong(
                format!("a second buffer named `{name}`"),
                format!("another name, or just `{name}` for the same buffer"),
            ));
        }
    }
    let Some((kind, value)) = rest.split_once(':') else {
        return match buffers.iter().position(|buffer| buffer.name == rest) {
            Some(buffer) if name.is_none() => Ok(Argument::Buffer { buffer, offset: 0 }),
            _ => Err(wrong(
                "no buffer of that name so far".to_owned(),
                ARGUMENT_SYNTAX.to_owned(),
            )),
        };
    };
    if kind == "bytes" && name.is_none() {
        return parse_hex(value).map(Argument::Bytes).ok_or_else(|| {
            wrong(
                format!("`{value}`"),
                "pairs of hexadecimal digits".to_owned(),
            )
        });
    }
    let Ok(element) = kind.parse::<ElementType>() else {
        return Err(wrong(format!("the type `{kind}`"), element_names()));
    };
    if let Some((count, init)) = value.split_once(':') {
        let name = name.map_or_else(|| format!("arg{position}"), str::to_owned);
        let buffer = parse_buffer(name, element, count, init)
            .map_err(|(found, expected)| wrong(found, expected))?;
        buffers.push(buffer);
        return Ok(Argument::Buffer {
            buffer: buffers.len() - 1,
            offset: 0,
        });
    }
    if name.is_some() {
        return Err(wrong(
            "a name but no `COUNT:INIT`".to_owned(),
            format!("a buffer as in `a={element}:1024:zero`"),
        ));
    }
    let number = parse_number(value)
        .ok_or_else(|| wrong(format!("`{value}`"), format!("a number of type {element}")))?;
    if !element.holds(number) {
        return Err(wrong(
            number.to_string(),
            format!("a number that {element} holds"),
        ));
    }
    Ok(Argument::Scalar {
        element,
        value: number,
    })
}

/// A number as people write it: decimal, `0x…` or floating-point.
pub(crate) fn parse_number(text: &str) -> Option<Number> {
    let text = text.trim();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    if let Some(hex) = digits.strip_prefix("0x") {
        let value = i128::from_str_radix(hex, 16).ok()?;
        return Some(Number::Integer(if negative { -value } else { value }));
    }
    if let Ok(value) = text.parse::<i128>() {
        return Some(Number::Integer(value));
    }
    text.parse::<f64>().ok().map(Number::Real)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Argument, ArgumentSyntaxError> {
        parse_argument(text, 0, &mut Vec::new())
    }

    #[test]
    fn scalars() {
        assert_eq!(
            parse("i32:-5"),
            Ok(Argument::Scalar {
                element: ElementType::I32,
                value: Number::Integer(-5)
            })
        );
        assert_eq!(
            parse("f32:1.5"),
            Ok(Argument::Scalar {
                element: ElementType::F32,
                value: Number::Real(1.5)
            })
        );
        assert_eq!(parse("bytes:00ff"), Ok(Argument::Bytes(vec![0, 255])));
        assert!(parse("u8:256").is_err());
        assert!(parse("u8:").is_err());
        assert!(parse("i33:1").unwrap_err().to_string().contains("i32"));
        assert!(parse("bytes:0").is_err());
    }

    #[test]
    fn buffers_are_named_once_and_used_again() {
        let mut buffers = Vec::new();
        let first = parse_argument("a=f32:16:zero", 0, &mut buffers);
        assert_eq!(
            first,
            Ok(Argument::Buffer {
                buffer: 0,
                offset: 0
            })
        );
        assert_eq!(parse_argument("a", 1, &mut buffers), first);
        assert!(parse_argument("a=f32:16:zero", 2, &mut buffers).is_err());
        assert!(parse_argument("b", 2, &mut buffers).is_err());
        let unnamed = parse_argument("u32:4:iota(0,1)", 2, &mut buffers);
        assert_eq!(
            unnamed,
            Ok(Argument::Buffer {
                buffer: 1,
                offset: 0
            })
        );
        assert_eq!(buffers[1].name, "arg2");
    }
}
