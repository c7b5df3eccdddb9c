//! Buffers: arrays in device memory that a launch file or the command line asks for, with what they
//! hold before the first launch.

use std::path::PathBuf;

use reference::{ElementType, Initializer, Number};

use super::argument::parse_number;
use super::document::{Reading, Table, Value, one_of};

/// Elements that one buffer can have.
const MOST_ELEMENTS: u64 = 1 << 40;

/// An array in device memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Buffer {
    /// Its name.
    pub name: String,
    /// Type of its elements.
    pub element: ElementType,
    /// How many elements.
    pub count: u64,
    /// What it holds at first.
    pub contents: Contents,
}

/// What a buffer holds at first.
#[derive(Debug, Clone, PartialEq)]
pub enum Contents {
    /// Computed.
    Computed(Initializer),
    /// The bytes of a file, relative to the launch file.
    File(PathBuf),
    /// Each element holds the address of the one `stride` elements further on, the last ones of the first:
    /// chains of pointers, which only 64-bit elements hold.
    Pointers {
        /// Distance in elements.
        stride: u64,
    },
}

impl Contents {
    /// Whether every byte is zero.
    pub fn is_zero(&self) -> bool {
        match self {
            Contents::Computed(Initializer::Fill(Number::Integer(0))) => true,
            Contents::Computed(Initializer::Fill(Number::Real(value))) => value.to_bits() == 0,
            _ => false,
        }
    }
}

impl Buffer {
    /// Bytes of the buffer.
    pub fn bytes(&self) -> u64 {
        self.count * self.element.size() as u64
    }
}

/// The element types, for messages.
pub(crate) fn element_names() -> String {
    let names: Vec<&str> = ElementType::ALL
        .iter()
        .map(|element| element.name())
        .collect();
    one_of(&names)
}

/// Reads the table `buffers`.
pub(crate) fn read_buffers(top: &Table<'_>) -> Reading<Vec<Buffer>> {
    let Some(value) = top.get("buffers") else {
        return Ok(Vec::new());
    };
    let table = value.table("a table of buffers, as in `[buffers.a]`")?;
    table
        .entries()
        .into_iter()
        .map(|(name, value)| read_buffer(name, &value))
        .collect()
}

fn read_buffer(name: &str, value: &Value<'_>) -> Reading<Buffer> {
    let table = value.table("a table with `type`, `count` and `init`")?;
    table.only(&["type", "count", "init"])?;
    let kind = table.require("type", &element_names())?;
    let text = kind.string(&element_names())?;
    let element: ElementType = text
        .parse()
        .map_err(|_| kind.error(format!("`{text}`"), element_names()))?;
    let expected = "a number of elements from 1 to 2^40";
    let count = table
        .require("count", expected)?
        .integer(1..=MOST_ELEMENTS, expected)?;
    let contents = match table.get("init") {
        Some(init) => read_contents(&init, element, count)?,
        None => Contents::Computed(Initializer::Fill(Number::Integer(0))),
    };
    Ok(Buffer {
        name: name.to_owned(),
        element,
        count,
        contents,
    })
}

const INIT: &str = "`{ fill = v }`, `{ iota = [start, step] }`, `{ random = seed, low = …, high = … }`, \
                    `{ values = […] }`, `{ file = \"…\" }`, `{ permutation_ring = seed, stride = … }` or \
                    `{ pointers = stride }`";

fn read_contents(init: &Value<'_>, element: ElementType, count: u64) -> Reading<Contents> {
    let table = init.table(INIT)?;
    if let Some(file) = table.get("file") {
        table.only(&["file"])?;
        return Ok(Contents::File(PathBuf::from(
            file.string("the name of a file")?,
        )));
    }
    if let Some(stride) = table.get("pointers") {
        table.only(&["pointers"])?;
        if element != ElementType::U64 {
            return Err(stride.error(
                format!("pointers in {element}"),
                "a buffer of u64: an address has 64 bits",
            ));
        }
        return Ok(Contents::Pointers {
            stride: stride.integer(1..=MOST_ELEMENTS, "a distance in elements, at least 1")?,
        });
    }
    let initializer = read_initializer(init, &table, element)?;
    if let Initializer::Values(values) = &initializer
        && values.len() as u64 != count
    {
        return Err(init.error(
            format!("{} values", values.len()),
            format!("{count}, the buffer's count"),
        ));
    }
    Ok(Contents::Computed(initializer))
}

/// Reads `{ fill = … }` and its kin, also as the expected values of a check.
pub(crate) fn read_initializer(
    init: &Value<'_>,
    table: &Table<'_>,
    element: ElementType,
) -> Reading<Initializer> {
    let number = |value: &Value<'_>| -> Reading<Number> {
        let number = value.number("a number")?;
        if element.holds(number) {
            Ok(number)
        } else {
            Err(value.error(number.to_string(), format!("a number that {element} holds")))
        }
    };
    let any = 0..=i64::MAX as u64;
    if let Some(value) = table.get("fill") {
        table.only(&["fill"])?;
        return Ok(Initializer::Fill(number(&value)?));
    }
    if let Some(value) = table.get("iota") {
        table.only(&["iota"])?;
        let pair = value.array("`[start, step]`")?;
        let [start, step] = pair.as_slice() else {
            return Err(value.error(format!("{} numbers", pair.len()), "`[start, step]`"));
        };
        return Ok(Initializer::Iota {
            start: number(start)?,
            step: step.number("a number")?,
        });
    }
    if let Some(seed) = table.get("random") {
        table.only(&["random", "low", "high"])?;
        let low = table.require("low", "the least value")?;
        let high = table.require("high", "the greatest value")?;
        let (least, most) = (number(&low)?, number(&high)?);
        // A NaN at either end makes the range as empty as one turned round.
        if least
            .as_f64()
            .partial_cmp(&most.as_f64())
            .is_none_or(|order| order.is_gt())
        {
            return Err(high.error(most.to_string(), format!("at least `low`, {least}")));
        }
        return Ok(Initializer::Random {
            seed: seed.integer(any, "a seed")?,
            low: least,
            high: most,
        });
    }
    if let Some(value) = table.get("values") {
        table.only(&["values"])?;
        return read_values(&value, element);
    }
    if let Some(seed) = table.get("permutation_ring") {
        table.only(&["permutation_ring", "stride"])?;
        let stride = table.require("stride", "a distance in elements")?;
        if element.is_real() {
            return Err(seed.error(
                format!("a ring of {element}"),
                "an integer type: a ring holds indices",
            ));
        }
        return Ok(Initializer::PermutationRing {
            seed: seed.integer(any.clone(), "a seed")?,
            stride: stride.integer(1..=MOST_ELEMENTS, "a distance in elements, at least 1")?,
        });
    }
    Err(init.error("none of the known ways to fill a buffer", INIT))
}

/// Reads a list of numbers.
pub(crate) fn read_values(value: &Value<'_>, element: ElementType) -> Reading<Initializer> {
    let list = value.array("a list of numbers")?;
    let numbers = list
        .iter()
        .map(|entry| {
            let number = entry.number("a number")?;
            if element.holds(number) {
                Ok(number)
            } else {
                Err(entry.error(number.to_string(), format!("a number that {element} holds")))
            }
        })
        .collect::<Reading<Vec<_>>>()?;
    Ok(Initializer::Values(numbers))
}

/// Reads `COUNT` and `INIT` of a buffer on the command line; an error is (found, expected).
pub(crate) fn parse_buffer(
    name: String,
    element: ElementType,
    count: &str,
    init: &str,
) -> Result<Buffer, (String, String)> {
    let count = count
        .parse::<u64>()
        .ok()
        .filter(|count| (1..=MOST_ELEMENTS).contains(count))
        .ok_or_else(|| {
            (
                format!("the count `{count}`"),
                "a number of elements from 1 to 2^40".to_owned(),
            )
        })?;
    let contents = match init.strip_prefix('@') {
        Some("") => {
            return Err((
                "`@` without a file".to_owned(),
                "as in `@input.bin`".to_owned(),
            ));
        }
        Some(file) => Contents::File(PathBuf::from(file)),
        None => Contents::Computed(parse_initializer(element, count, init)?),
    };
    Ok(Buffer {
        name,
        element,
        count,
        contents,
    })
}

fn parse_initializer(
    element: ElementType,
    count: u64,
    init: &str,
) -> Result<Initializer, (String, String)> {
    let forms = || {
        "zero, fill(v), iota(start,step), random(seed,low,high), values(a,b,…), \
         ring(seed,stride) or @file.bin"
            .to_owned()
    };
    if init == "zero" {
        return Ok(Initializer::Fill(Number::Integer(0)));
    }
    let (form, list) = init
        .strip_suffix(')')
        .and_then(|open| open.split_once('('))
        .ok_or_else(|| (format!("`{init}`"), forms()))?;
    let numbers: Vec<Number> = list
        .split(',')
        .map(|text| {
            parse_number(text)
                .ok_or_else(|| (format!("`{text}` in `{init}`"), "a number".to_owned()))
        })
        .collect::<Result<_, _>>()?;
    let held = |number: Number| {
        if element.holds(number) {
            Ok(number)
        } else {
            Err((
                format!("{number}"),
                format!("a number that {element} holds"),
            ))
        }
    };
    let whole = |number: Number| match number {
        Number::Integer(value) => {
            u64::try_from(value).map_err(|_| (value.to_string(), "a number from 0 on".to_owned()))
        }
        Number::Real(value) => Err((format!("{value:?}"), "a whole number".to_owned())),
    };
    match (form, numbers.as_slice()) {
        ("fill", &[value]) => Ok(Initializer::Fill(held(value)?)),
        ("iota", &[start, step]) => Ok(Initializer::Iota {
            start: held(start)?,
            step,
        }),
        ("random", &[seed, low, high]) => Ok(Initializer::Random {
            seed: whole(seed)?,
            low: held(low)?,
            high: held(high)?,
        }),
        ("ring", &[seed, stride]) => Ok(Initializer::PermutationRing {
            seed: whole(seed)?,
            stride: whole(stride)?,
        }),
        ("values", values) => {
            if values.len() as u64 != count {
                return Err((
                    format!("{} values", values.len()),
                    format!("{count} of them"),
                ));
            }
            for &value in values {
                held(value)?;
            }
            Ok(Initializer::Values(numbers))
        }
        _ => Err((format!("`{init}`"), forms())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(count: &str, init: &str) -> Result<Buffer, (String, String)> {
        parse_buffer("a".to_owned(), ElementType::U32, count, init)
    }

    #[test]
    fn forms_on_the_command_line() {
        assert!(parse("4", "zero").unwrap().contents.is_zero());
        assert!(matches!(
            parse("4", "@x.bin").unwrap().contents,
            Contents::File(_)
        ));
        for good in [
            "fill(3)",
            "iota(0,1)",
            "random(1,0,9)",
            "ring(1,2)",
            "values(1,2,3,4)",
        ] {
            assert!(parse("4", good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "fill()",
            "fill(-1)",
            "fill(1",
            "iota(1)",
            "values(1)",
            "@",
            "ones",
            "fill(x)",
        ] {
            assert!(parse("4", bad).is_err(), "{bad}");
        }
        assert!(parse("0", "zero").is_err());
        assert!(parse("99999999999999999999", "zero").is_err());
    }
}
