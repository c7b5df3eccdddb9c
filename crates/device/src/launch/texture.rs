//! Textures and surfaces of a launch file: images made of buffers, and how they are sampled.
//!
//! An array is filled from its buffer before the first launch, and its texels go back there after the
//! last one if a surface may have written them, as `cudaMemcpy` from and to an array would do. In the
//! buffer texels lie in the plain order: level by level, layer by layer (a cube's faces are layers),
//! slice by slice, row by row.

use exec::texture::{
    AddressMode, ChannelType, Dimension, Filter, Image, ReadMode, Sampler, Shape, Storage,
    TexelFormat,
};
use exec::{ExecError, GlobalMemory};
use reference::ElementType;

use super::argument::find_buffer;
use super::buffer::Buffer;
use super::document::{Reading, Table, Value, one_of};

/// A texture or surface that kernels get as an argument.
#[derive(Debug, Clone, PartialEq)]
pub struct TextureObject {
    /// Its name.
    pub name: String,
    /// Position of the buffer that holds its texels.
    pub buffer: usize,
    /// The image, without memory yet.
    pub image: Image,
    /// How it is sampled; `None` for a surface.
    pub sampler: Option<Sampler>,
}

/// Reads the tables `textures` and `surfaces`.
pub(crate) fn read_objects(top: &Table<'_>, buffers: &[Buffer]) -> Reading<Vec<TextureObject>> {
    let mut objects: Vec<TextureObject> = Vec::new();
    for (key, is_texture) in [("textures", true), ("surfaces", false)] {
        let Some(value) = top.get(key) else { continue };
        let table = value.table(&format!("a table of {key}, as in `[{key}.t]`"))?;
        for (name, value) in table.entries() {
            let taken = buffers.iter().any(|buffer| buffer.name == name)
                || objects.iter().any(|object| object.name == name);
            if taken {
                return Err(value.error(
                    format!("the name `{name}`, which is taken"),
                    "a name that no buffer, texture or surface has",
                ));
            }
            let object = read_object(name, &value, is_texture, buffers)?;
            if let Some(other) = objects.iter().find(|other| other.clashes(&object)) {
                return Err(value.error(
                    format!(
                        "another shape of buffer `{}` than `{}` has",
                        buffers[object.buffer].name, other.name
                    ),
                    "the same shape, or a buffer of its own: a surface's texels go back to its buffer",
                ));
            }
            objects.push(object);
        }
    }
    Ok(objects)
}

const KEYS: &[&str] = &["buffer", "channels", "size", "layers", "cube", "levels"];
const TEXTURE_KEYS: &[&str] = &[
    "memory",
    "pitch",
    "address",
    "filter",
    "level_filter",
    "normalized",
    "read",
    "srgb",
    "anisotropy",
    "level_bias",
    "level_range",
];

fn read_object(
    name: &str,
    value: &Value<'_>,
    is_texture: bool,
    buffers: &[Buffer],
) -> Reading<TextureObject> {
    let table = value.table("a table with `buffer` and `size`")?;
    let mut known = KEYS.to_vec();
    if is_texture {
        known.extend(TEXTURE_KEYS);
    }
    table.only(&known)?;
    let key = table.require("buffer", "the name of a buffer")?;
    let buffer = find_buffer(&key, key.string("the name of a buffer")?, buffers)?;
    let Some(channel) = channel_of(buffers[buffer].element) else {
        return Err(key.error(
            format!("a buffer of {}", buffers[buffer].element),
            "one of u8, u16, u32, i8, i16, i32, f16 or f32",
        ));
    };
    let channels = match table.get("channels") {
        Some(value) => value.integer(1..=4, "1, 2 or 4")? as u32,
        None => 1,
    };
    let shape = read_shape(&table)?;
    let storage = read_storage(&table, &shape, channel.bytes() * channels)?;
    let format = TexelFormat { channel, channels };
    let image = Image::new(name, format, shape, storage)
        .map_err(|error| value.error(error.to_string(), "an image that the GPU can have"))?;
    let (found, expected) = (buffers[buffer].bytes(), image.host_bytes());
    if found != expected {
        return Err(key.error(
            format!("a buffer of {found} bytes"),
            format!("{expected}, which the texels take"),
        ));
    }
    let sampler = if is_texture {
        let sampler = read_sampler(&table)?;
        sampler
            .check(&image)
            .map_err(|error| value.error(error.to_string(), "a way to sample the image"))?;
        Some(sampler)
    } else {
        None
    };
    Ok(TextureObject {
        name: name.to_owned(),
        buffer,
        image,
        sampler,
    })
}

impl TextureObject {
    /// Whether both would be arrays of one buffer that it cannot be copied back from.
    fn clashes(&self, other: &TextureObject) -> bool {
        self.buffer == other.buffer
            && (self.sampler.is_none() || other.sampler.is_none())
            && !self.shares(other)
    }

    /// Whether both are views of the same array.
    pub fn shares(&self, other: &TextureObject) -> bool {
        self.buffer == other.buffer
            && self.image.storage() == Storage::Array
            && other.image.storage() == Storage::Array
            && self.image.shape() == other.image.shape()
            && self.image.format() == other.image.format()
    }
}

/// The objects' images in device memory: arrays get memory of their own and their buffers' texels,
/// others are their buffers. `addresses[i]` is the address of buffer i.
///
/// # Errors
/// No room in device memory or on the host.
pub fn place_images(
    objects: &[TextureObject],
    addresses: &[u64],
    memory: &mut GlobalMemory,
) -> Result<Vec<Image>, ExecError> {
    let mut images: Vec<Image> = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        let address = addresses.get(object.buffer).copied().unwrap_or(0);
        let shared = objects[..index]
            .iter()
            .position(|other| other.shares(object));
        let image = match shared {
            Some(other) => images[other].clone(),
            None if object.image.storage() == Storage::Array => {
                let mut texels = Vec::new();
                let bytes = object.image.host_bytes();
                let no_room = |_| ExecError::OutOfMemory {
                    name: object.name.clone(),
                    bytes,
                    free: 0,
                };
                texels
                    .try_reserve_exact(usize::try_from(bytes).unwrap_or(usize::MAX))
                    .map_err(no_room)?;
                texels.resize(bytes as usize, 0);
                memory.read(address, &mut texels)?;
                let image = object.image.clone().allocate(memory)?;
                image.upload(memory, &texels)?;
                image
            }
            None => object.image.clone().at(address),
        };
        images.push(image);
    }
    Ok(images)
}

fn channel_of(element: ElementType) -> Option<ChannelType> {
    Some(match element {
        ElementType::U8 => ChannelType::U8,
        ElementType::U16 => ChannelType::U16,
        ElementType::U32 => ChannelType::U32,
        ElementType::I8 => ChannelType::S8,
        ElementType::I16 => ChannelType::S16,
        ElementType::I32 => ChannelType::S32,
        ElementType::F16 => ChannelType::F16,
        ElementType::F32 => ChannelType::F32,
        _ => return None,
    })
}

fn read_shape(table: &Table<'_>) -> Reading<Shape> {
    let expected = "one to three numbers of texels, as in `[64, 32]`";
    let size = table.require("size", expected)?;
    let list = size.array(expected)?;
    if !(1..=3).contains(&list.len()) {
        return Err(size.error(format!("{} numbers", list.len()), expected));
    }
    let mut extent = [1; 3];
    for (place, entry) in extent.iter_mut().zip(&list) {
        *place = entry.integer(1..=u64::from(u32::MAX), expected)? as u32;
    }
    let cube = read_flag(table, "cube")?;
    let dimension = match (list.len(), cube) {
        (2, true) => Dimension::Cube,
        (_, true) => {
            return Err(size.error(
                format!("{} numbers", list.len()),
                "width and height of a cube's faces",
            ));
        }
        (1, _) => Dimension::One,
        (2, _) => Dimension::Two,
        _ => Dimension::Three,
    };
    let count = |key: &str| -> Reading<Option<u32>> {
        let expected = "a number from 1 on";
        table
            .get(key)
            .map(|value| value.integer(1..=u64::from(u32::MAX), expected))
            .transpose()
            .map(|count| count.map(|count| count as u32))
    };
    Ok(Shape {
        dimension,
        extent,
        layers: count("layers")?,
        levels: count("levels")?.unwrap_or(1),
    })
}

fn read_storage(table: &Table<'_>, shape: &Shape, texel: u32) -> Reading<Storage> {
    let names = ["array", "linear", "pitch"];
    let memory = match table.get("memory") {
        Some(value) => choice(&value, &names)?,
        None => 0,
    };
    if let Some(pitch) = table.get("pitch")
        && memory != 2
    {
        return Err(pitch.error("a pitch", "none: only `memory = \"pitch\"` has one"));
    }
    Ok(match memory {
        0 => Storage::Array,
        1 => Storage::Linear,
        _ => {
            let row = u64::from(shape.extent[0]) * u64::from(texel);
            let expected = "bytes between rows";
            Storage::Pitched(match table.get("pitch") {
                Some(value) => value.integer(1..=u64::from(u32::MAX), expected)?,
                None => row,
            })
        }
    })
}

fn read_flag(table: &Table<'_>, key: &str) -> Reading<bool> {
    table
        .get(key)
        .map_or(Ok(false), |value| value.boolean("true or false"))
}

/// The position of a string in `names`.
fn choice(value: &Value<'_>, names: &[&str]) -> Reading<usize> {
    let text = value.string(&one_of(names))?;
    names
        .iter()
        .position(|name| *name == text)
        .ok_or_else(|| value.error(format!("`{text}`"), one_of(names)))
}

fn read_sampler(table: &Table<'_>) -> Reading<Sampler> {
    let mut sampler = Sampler {
        normalized: read_flag(table, "normalized")?,
        srgb: read_flag(table, "srgb")?,
        ..Sampler::default()
    };
    if let Some(value) = table.get("address") {
        let mode = |value: &Value<'_>| -> Reading<AddressMode> {
            let modes = [
                AddressMode::Clamp,
                AddressMode::Wrap,
                AddressMode::Mirror,
                AddressMode::Border,
            ];
            Ok(modes[choice(value, &["clamp", "wrap", "mirror", "border"])?])
        };
        if value.is_array() {
            let list = value.array("an address mode for each axis")?;
            if !(1..=3).contains(&list.len()) {
                return Err(
                    value.error(format!("{} address modes", list.len()), "one for each axis")
                );
            }
            for (place, entry) in sampler.address.iter_mut().zip(&list) {
                *place = mode(entry)?;
            }
        } else {
            sampler.address = [mode(&value)?; 3];
        }
    }
    let filter = |key: &str| -> Reading<Filter> {
        match table.get(key) {
            Some(value) => {
                Ok([Filter::Point, Filter::Linear][choice(&value, &["point", "linear"])?])
            }
            None => Ok(Filter::Point),
        }
    };
    sampler.filter = filter("filter")?;
    sampler.level_filter = filter("level_filter")?;
    if let Some(value) = table.get("read") {
        sampler.read =
            [ReadMode::Element, ReadMode::Normalized][choice(&value, &["element", "normalized"])?];
    }
    if let Some(value) = table.get("anisotropy") {
        let found = value.integer(0..=16, "0 to 16, as `cudaTextureDesc::maxAnisotropy`")?;
        if found > 1 {
            return Err(value.error(
                format!("{found}"),
                "0 or 1: which texels an anisotropic filter takes is not published",
            ));
        }
    }
    if let Some(value) = table.get("level_bias") {
        sampler.level_bias = value.number("a number of levels")?.as_f64() as f32;
    }
    if let Some(value) = table.get("level_range") {
        let expected = "the least and the greatest level, as in `[0, 4]`";
        let list = value.array(expected)?;
        let [least, most] = list.as_slice() else {
            return Err(value.error(format!("{} numbers", list.len()), expected));
        };
        sampler.level_range = [
            least.number(expected)?.as_f64() as f32,
            most.number(expected)?.as_f64() as f32,
        ];
    }
    Ok(sampler)
}

#[cfg(test)]
mod tests {
    use super::super::{Argument, Workload};

    const GOOD: &str = r#"
cubin = "x.cubin"
[[launch]]
kernel = "k"
grid = 1
block = 32
args = ["t", "s", "a"]
[buffers.a]
type = "u8"
count = 64
[buffers.b]
type = "f32"
count = 16
[textures.t]
buffer = "a"
size = [8, 8]
filter = "linear"
read = "normalized"
normalized = true
address = ["wrap", "mirror"]
[surfaces.s]
buffer = "b"
size = [4, 4]
"#;

    #[test]
    fn objects_are_arguments() {
        let workload = Workload::parse("x.toml", GOOD).unwrap();
        let names: Vec<&str> = workload.objects.iter().map(|o| o.name.as_str()).collect();
        assert_eq!(names, ["t", "s"]);
        assert_eq!(
            workload.launches[0].arguments[..2],
            [
                Argument::Texture { object: 0 },
                Argument::Texture { object: 1 }
            ]
        );
    }

    #[test]
    fn errors_name_key_and_what_would_be_right() {
        let cases = [
            ("size = [8, 8]", "size = [8, 9]", "textures.t.buffer", "72"),
            ("size = [8, 8]", "size = []", "textures.t.size", "0 numbers"),
            (
                "size = [4, 4]",
                "size = [4, 4]\ncube = true\nlayers = 0",
                "surfaces.s.layers",
                "0",
            ),
            (
                "size = [4, 4]",
                "size = [4, 4]\nfilter = \"point\"",
                "surfaces.s.filter",
                "key",
            ),
            ("read = \"normalized\"", "", "textures.t", "linear filter"),
            (
                "normalized = true",
                "",
                "textures.t",
                "normalized coordinates",
            ),
            (
                "normalized = true",
                "normalized = true\nsrgb = true",
                "textures.t",
                "four channels",
            ),
            (
                "normalized = true",
                "normalized = true\nanisotropy = 8",
                "textures.t.anisotropy",
                "not published",
            ),
            (
                "\"mirror\"",
                "\"repeat\"",
                "textures.t.address[1]",
                "`border`",
            ),
            (
                "buffer = \"a\"",
                "buffer = \"c\"",
                "textures.t.buffer",
                "`a` or `b`",
            ),
            (
                "\"s\", \"a\"",
                "\"u\", \"a\"",
                "launch[0].args[1]",
                "`t` or `s`",
            ),
            ("[surfaces.s]", "[surfaces.a]", "surfaces.a", "taken"),
            (
                "type = \"u8\"",
                "type = \"f64\"",
                "textures.t.buffer",
                "f64",
            ),
            (
                "buffer = \"a\"",
                "buffer = \"a\"\nchannels = 3",
                "textures.t",
                "3 channels",
            ),
            (
                "buffer = \"a\"",
                "buffer = \"a\"\nlevels = 5",
                "textures.t",
                "allow 4",
            ),
            (
                "buffer = \"b\"\nsize = [4, 4]",
                "buffer = \"a\"\nsize = [64]",
                "surfaces.s",
                "another shape",
            ),
        ];
        for (from, to, key, text) in cases {
            assert!(GOOD.contains(from));
            let error = Workload::parse("x.toml", &GOOD.replacen(from, to, 1)).unwrap_err();
            assert!(
                error.key == key && error.to_string().contains(text),
                "{to}: {error}"
            );
        }
    }
}
