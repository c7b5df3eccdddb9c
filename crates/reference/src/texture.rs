//! Filters that read through textures, and changes to surfaces.
//!
//! Textures here are sampled with doubles that hold every intermediate value exactly: weights are
//! multiples of 1/256 for each axis, texels integers or halves. One division and one rounding to single
//! precision remain.

use half::f16;

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::values::Values;

/// What lies outside.
#[derive(Clone, Copy, PartialEq)]
enum Edge {
    Clamp,
    Wrap,
    Mirror,
    Zero,
}

/// Texels of an image, x fastest, channels together.
struct Picture {
    texels: Vec<f64>,
    extent: [usize; 3],
    channels: usize,
    edges: [Edge; 3],
}

impl Picture {
    fn new(texels: Vec<f64>, extent: [usize; 3], channels: usize, edges: [Edge; 3]) -> Picture {
        Picture {
            texels,
            extent,
            channels,
            edges,
        }
    }

    /// Channel of the texel at an index, 0 beyond a border.
    fn texel(&self, index: [i64; 3], channel: usize) -> f64 {
        if self.extent.contains(&0) {
            return 0.0;
        }
        let mut place = 0;
        for axis in [2, 1, 0] {
            let size = self.extent[axis] as i64;
            let at = index[axis];
            let inside = match self.edges[axis] {
                Edge::Clamp => at.max(0).min(size - 1),
                Edge::Wrap => (at % size + size) % size,
                Edge::Mirror => {
                    let turn = (at % (2 * size) + 2 * size) % (2 * size);
                    if turn < size {
                        turn
                    } else {
                        2 * size - 1 - turn
                    }
                }
                Edge::Zero if at < 0 || at >= size => return 0.0,
                Edge::Zero => at,
            };
            place = place * size + inside;
        }
        self.texels[place as usize * self.channels + channel]
    }

    /// Linear mean around a place along the first `axes` axes.
    fn mixed(&self, place: [f64; 3], axes: usize, channel: usize) -> f64 {
        let fixed = place.map(|x| (x * 256.0 + 0.5).floor() as i64 - 128);
        let mut sum = 0.0;
        for corner in 0..1 << axes {
            let mut index = [0; 3];
            let mut weight = 1.0;
            for axis in 0..axes {
                let second = corner >> axis & 1;
                let share = (fixed[axis] & 255) as f64;
                index[axis] = (fixed[axis] >> 8) + second;
                weight *= if second == 1 { share } else { 256.0 - share } / 256.0;
            }
            sum += weight * self.texel(index, channel);
        }
        sum
    }
}

/// A number of elements; what no buffer has stays too large.
fn count(factors: &[usize]) -> usize {
    factors
        .iter()
        .fold(1, |product, &factor| product.saturating_mul(factor))
}

fn doubles<T: Copy + Into<f64>>(values: &[T]) -> Vec<f64> {
    values.iter().map(|&value| value.into()).collect()
}

fn halves(values: &[f16]) -> Vec<f64> {
    values.iter().map(|value| value.to_f64()).collect()
}

/// Bytes with normalized coordinates, wrapped across and mirrored down.
pub(crate) fn resize(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let (columns, rows) = (inputs.size("columns")?, inputs.size("rows")?);
    let (width, height) = (inputs.size("width")?, inputs.size("height")?);
    let (step_x, step_y) = (inputs.f32("step_x")?, inputs.f32("step_y")?);
    let start = inputs.f32("start")?;
    let image = inputs.u8s("image", count(&[columns, rows]))?;
    let mut out = inputs.f32s("out", count(&[width, height]))?;
    let picture = Picture::new(
        doubles(&image),
        [columns, rows, 1],
        1,
        [Edge::Wrap, Edge::Mirror, Edge::Clamp],
    );
    for y in 0..height {
        for x in 0..width {
            let u = f64::from((x as f32).mul_add(step_x, start)) * columns as f64;
            let v = f64::from((y as f32).mul_add(step_y, start)) * rows as f64;
            out[y * width + x] = (picture.mixed([u, v, 0.0], 2, 0) / 255.0) as f32;
        }
    }
    Ok(vec![Output::new("out", Values::F32(out))])
}

/// An eighth of the sum of 3 x 3 texels, zero beyond the border.
pub(crate) fn box_filter(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let (width, height) = (inputs.size("width")?, inputs.size("height")?);
    let image = inputs.f32s("image", count(&[4, width, height]))?;
    let mut out = inputs.f32s("out", count(&[4, width, height]))?;
    for y in 0..height {
        for x in 0..width {
            for channel in 0..4 {
                let mut sum = 0f32;
                for (j, i) in (0..9).map(|k| (k / 3, k % 3)) {
                    let (line, column) = ((y + j).wrapping_sub(1), (x + i).wrapping_sub(1));
                    if line < height && column < width {
                        sum += image[4 * (line * width + column) + channel];
                    }
                }
                out[4 * (y * width + x) + channel] = sum * 0.125;
            }
        }
    }
    Ok(vec![Output::new("out", Values::F32(out))])
}

fn spline([a, b, c, d]: [f32; 4], t: f32) -> f32 {
    let k3 = 3f32.mul_add(b - c, d - a);
    let k2 = (-6f32).mul_add(b, 3.0 * (a + c));
    let k1 = 3.0 * (c - a);
    let k0 = 4f32.mul_add(b, a + c);
    k3.mul_add(t, k2).mul_add(t, k1).mul_add(t, k0)
}

/// Cubic B-spline through 4 x 4 texels, times 36.
pub(crate) fn bicubic(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let (columns, rows) = (inputs.size("columns")?, inputs.size("rows")?);
    let (width, height) = (inputs.size("width")?, inputs.size("height")?);
    let scale = inputs.f32("scale")?;
    let image = inputs.f32s("image", count(&[columns, rows]))?;
    let mut out = inputs.f32s("out", count(&[width, height]))?;
    let texel = |x: i64, y: i64| {
        let x = x.min(columns as i64 - 1).max(0) as usize;
        let y = y.min(rows as i64 - 1).max(0) as usize;
        image.get(y * columns + x).copied().unwrap_or(0.0)
    };
    for y in 0..height {
        for x in 0..width {
            let u = (x as f32).mul_add(scale, -0.5);
            let v = (y as f32).mul_add(scale, -0.5);
            let (i, j) = (u.floor(), v.floor());
            let lines: [f32; 4] = std::array::from_fn(|r| {
                let line = j as i64 + r as i64 - 1;
                let four = std::array::from_fn(|c| texel(i as i64 + c as i64 - 1, line));
                spline(four, u - i)
            });
            out[y * width + x] = spline(lines, v - j);
        }
    }
    Ok(vec![Output::new("out", Values::F32(out))])
}

/// Density of halves in a volume, colours of 16 bits by density.
pub(crate) fn march(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let [columns, rows, slices] = [
        inputs.size("columns")?,
        inputs.size("rows")?,
        inputs.size("slices")?,
    ];
    let (width, height) = (inputs.size("width")?, inputs.size("height")?);
    let (steps, shades) = (inputs.size("steps")?, inputs.size("shades")?);
    let scale = inputs.f32("scale")?;
    let volume = inputs.f16s("volume", count(&[columns, rows, slices]))?;
    let colours = inputs.u16s("colours", count(&[4, shades]))?;
    let mut out = inputs.f32s("out", count(&[4, width, height]))?;
    let clamp = [Edge::Clamp; 3];
    let volume = Picture::new(halves(&volume), [columns, rows, slices], 1, clamp);
    let colours = Picture::new(doubles(&colours), [shades, 1, 1], 4, clamp);
    for y in 0..height {
        for x in 0..width {
            let mut sum = [0f32; 4];
            for k in 0..steps {
                let place = [
                    f64::from((x as f32).mul_add(scale, 0.25)),
                    f64::from((y as f32).mul_add(scale, 0.5)),
                    f64::from((k as f32).mul_add(scale, 0.125)),
                ];
                let density = volume.mixed(place, 3, 0) as f32;
                let shade = [f64::from(density) * shades as f64, 0.0, 0.0];
                let colour: [f32; 4] = std::array::from_fn(|channel| {
                    (colours.mixed(shade, 1, channel) / 65535.0) as f32
                });
                for channel in 0..3 {
                    sum[channel] = colour[channel].mul_add(colour[3], sum[channel]);
                }
                sum[3] += colour[3];
            }
            out[4 * (y * width + x)..][..4].copy_from_slice(&sum);
        }
    }
    Ok(vec![Output::new("out", Values::F32(out))])
}

/// Least and greatest of four neighbours in each of four channels.
pub(crate) fn extremes(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let (columns, rows) = (inputs.size("columns")?, inputs.size("rows")?);
    let (width, height) = (inputs.size("width")?, inputs.size("height")?);
    let image = inputs.u8s("image", count(&[4, columns, rows]))?;
    let mut least = inputs.f32s("least", count(&[4, width, height]))?;
    let mut most = inputs.f32s("most", count(&[4, width, height]))?;
    let picture = Picture::new(doubles(&image), [columns, rows, 1], 4, [Edge::Clamp; 3]);
    for channel in 0..4 {
        for y in 0..height {
            for x in 0..width {
                let four: [f32; 4] = std::array::from_fn(|k| {
                    let index = [x as i64 - (k as i64 & 1), y as i64 - (k as i64 >> 1), 0];
                    (picture.texel(index, channel) / 255.0) as f32
                });
                let at = (channel * height + y) * width + x;
                least[at] = four.iter().copied().fold(f32::INFINITY, f32::min);
                most[at] = four.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            }
        }
    }
    Ok(vec![
        Output::new("least", Values::F32(least)),
        Output::new("most", Values::F32(most)),
    ])
}

/// Layer `layer` of a stack of pictures.
fn layer_of(texels: &[f64], layer: usize, extent: [usize; 2], edges: [Edge; 3]) -> Picture {
    let size = extent[0] * extent[1];
    let texels = texels[layer * size..(layer + 1) * size].to_vec();
    Picture::new(texels, [extent[0], extent[1], 1], 1, edges)
}

/// Stacks of lines (16 bits) and planes (signed bytes), both mirrored across; planes wrap down.
pub(crate) fn layers(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let n = inputs.size("n")?;
    let (length, width, height) = (
        inputs.size("length")?,
        inputs.size("width")?,
        inputs.size("height")?,
    );
    let lines = doubles(&inputs.u16s("lines", count(&[3, length]))?);
    let planes = inputs.i8s("planes", count(&[4, width, height]))?;
    // The most negative byte stands for -1, too.
    let planes: Vec<f64> = planes
        .iter()
        .map(|&texel| f64::from(texel.max(-127)))
        .collect();
    let mut out = inputs.f32s("out", count(&[2, n]))?;
    for i in 0..n {
        let at = f64::from((i as f32).mul_add(0.046875, -0.25));
        let line = layer_of(&lines, (i % 4).min(2), [length, 1], [Edge::Mirror; 3]);
        let place = [at * length as f64, 0.0, 0.0];
        out[i] = (line.mixed(place, 1, 0) / 65535.0) as f32;
        let edges = [Edge::Mirror, Edge::Wrap, Edge::Clamp];
        let plane = layer_of(&planes, (i % 5).min(3), [width, height], edges);
        let place = [at * width as f64, at * height as f64, 0.0];
        out[n + i] = (plane.mixed(place, 2, 0) / 127.0) as f32;
    }
    Ok(vec![Output::new("out", Values::F32(out))])
}

/// Face of a direction whose longest component is 1 or -1 on `axis`, and the place on it from -1 to 1.
fn face([x, y, z]: [f32; 3], axis: usize) -> (usize, f32, f32) {
    match axis {
        0 if x > 0.0 => (0, -z, -y),
        0 => (1, z, -y),
        1 if y > 0.0 => (2, x, z),
        1 => (3, x, -z),
        _ if z > 0.0 => (4, x, -y),
        _ => (5, -x, -y),
    }
}

/// A cube and two cubes of bytes, with a linear filter.
pub(crate) fn cubes(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let n = inputs.size("n")?;
    let (large, small) = (inputs.size("large")?, inputs.size("small")?);
    let cube = doubles(&inputs.u8s("cube", count(&[6, large, large]))?);
    let several = doubles(&inputs.u8s("several", count(&[12, small, small]))?);
    let mut out = inputs.f32s("out", count(&[2, n]))?;
    for i in 0..n {
        let s = ((i % 7) as f32).mul_add(0.3125, -0.9375);
        let t = ((i % 5) as f32).mul_add(0.4375, -0.875);
        let one = if i % 2 == 1 { -1.0 } else { 1.0 };
        let axis = i % 3;
        let direction = match axis {
            0 => [one, s, t],
            1 => [s, one, t],
            _ => [s, t, one],
        };
        let (face, across, down) = face(direction, axis);
        let sample = |texels: &[f64], slot: usize, size: usize| {
            let picture = layer_of(texels, slot, [size, size], [Edge::Clamp; 3]);
            let place = |c: f32| (f64::from(c) + 1.0) / 2.0 * size as f64;
            (picture.mixed([place(across), place(down), 0.0], 2, 0) / 255.0) as f32
        };
        out[i] = sample(&cube, face, large);
        out[n + i] = sample(&several, 6 * (i % 3).min(1) + face, small);
    }
    Ok(vec![Output::new("out", Values::F32(out))])
}

/// Levels of detail of a square image of bytes, linear in between, wrapped.
pub(crate) fn details(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let (n, size, levels) = (
        inputs.size("n")?,
        inputs.size("size")?,
        inputs.size("levels")?.clamp(1, 32),
    );
    let mut needed = 0;
    let mut starts = Vec::new();
    for level in 0..levels {
        starts.push(needed);
        let across = (size >> level).max(1);
        needed = count(&[across, across]).saturating_add(needed);
    }
    let image = doubles(&inputs.u8s("image", needed)?);
    let mut out = inputs.f32s("out", count(&[3, n]))?;
    let at_level = |level: usize, at: f64| {
        let size = (size >> level).max(1);
        let texels = image[starts[level]..starts[level] + size * size].to_vec();
        let picture = Picture::new(texels, [size, size, 1], 1, [Edge::Wrap; 3]);
        picture.mixed([at * size as f64, at * size as f64, 0.0], 2, 0)
    };
    let sample = |detail: f64, at: f64| {
        let last = 256 * (levels as i64 - 1);
        let fixed = ((detail * 256.0 + 0.5).floor() as i64).clamp(0, last);
        let (level, share) = ((fixed >> 8) as usize, (fixed & 255) as f64 / 256.0);
        let next = if share > 0.0 {
            at_level(level + 1, at)
        } else {
            0.0
        };
        ((at_level(level, at) * (1.0 - share) + next * share) / 255.0) as f32
    };
    for i in 0..n {
        let at = f64::from((i as f32).mul_add(0.015625, 0.0625));
        out[i] = sample(f64::from((i as f32).mul_add(0.078125, -0.5)), at);
        // The step across is a power of two of texels.
        let texels = 0.0625 * f64::from(1 << (i % 5)) * size as f64;
        out[n + i] = sample(texels.log2(), at);
        out[2 * n + i] = sample(0.0, at);
    }
    Ok(vec![Output::new("out", Values::F32(out))])
}

/// Linear memory by index, zero beyond its end.
pub(crate) fn fetches(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let n = inputs.size("n")?;
    let line = inputs.f32s("line", 1)?;
    let words = inputs.i16s("words", 2)?;
    let mut out = inputs.f32s("out", n)?;
    let mut integers = inputs.i32s("integers", count(&[2, n]))?;
    for k in 0..n {
        out[k] = line.get(k ^ 5).copied().unwrap_or(0.0);
        for half in 0..2 {
            let word = words.get(2 * k + half).copied().unwrap_or(0);
            integers[2 * k + half] = i32::from(word);
        }
    }
    Ok(vec![
        Output::new("out", Values::F32(out)),
        Output::new("integers", Values::I32(integers)),
    ])
}

/// Three images of 8 x 4 texels, one for each thread, one for each block.
pub(crate) fn handles(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let (n, blocks) = (inputs.size("n")?, inputs.size("blocks")?);
    let images = [
        inputs.f32s("a", 32)?,
        inputs.f32s("b", 32)?,
        inputs.f32s("c", 32)?,
    ];
    let mut out = inputs.f32s("out", count(&[2, n, blocks]))?;
    for block in 0..blocks {
        for i in 0..n {
            let rows = &mut out[2 * n * block..];
            rows[i] = images[i % 3][i / 8 % 4 * 8 + i % 8];
            rows[n + i] = images[block % 3][8 + i % 8];
        }
    }
    Ok(vec![Output::new("out", Values::F32(out))])
}

/// 8 x 4 texels of four halves: packed, moved by (-2, 3), by index; zero beyond the border.
pub(crate) fn packed(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let image = inputs.f16s("image", 128)?;
    let mut words = inputs.u32s("halves", 64)?;
    let mut moved = inputs.f32s("moved", 128)?;
    let mut indexed = inputs.f32s("indexed", 128)?;
    let texel = |x: i64, y: i64, channel: usize| {
        let inside = (0..8).contains(&x) && (0..4).contains(&y);
        if inside {
            image[(y * 8 + x) as usize * 4 + channel].to_f32()
        } else {
            0.0
        }
    };
    for i in 0..32 {
        let (x, y) = ((i % 8) as i64, (i / 8) as i64);
        for pair in 0..2 {
            let half = |k: usize| u32::from(image[4 * i + 2 * pair + k].to_bits());
            words[2 * i + pair] = half(0) | half(1) << 16;
        }
        for channel in 0..4 {
            moved[4 * i + channel] = texel(x - 2, y + 3, channel);
            indexed[4 * i + channel] = texel((i % 11) as i64 - 1, y, channel);
        }
    }
    Ok(vec![
        Output::new("halves", Values::U32(words)),
        Output::new("moved", Values::F32(moved)),
        Output::new("indexed", Values::F32(indexed)),
    ])
}

/// Colours inverted with their neighbours' red; then the result, filtered.
pub(crate) fn invert(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let (width, height) = (inputs.size("width")?, inputs.size("height")?);
    let from = inputs.u8s("from", count(&[4, width, height]))?;
    let mut to = inputs.u8s("to", count(&[4, width, height]))?;
    let mut out = inputs.f32s("out", count(&[4, width, height]))?;
    for y in 0..height {
        for x in 0..width {
            let at = 4 * (y * width + x);
            let left = if x == 0 { 0 } else { from[at - 4] };
            let right = if x + 1 == width {
                from[at]
            } else {
                from[at + 4]
            };
            to[at] = 255 - from[at];
            to[at + 1] = 255 - from[at + 1];
            to[at + 2] = left.wrapping_add(right);
            to[at + 3] = from[at + 3];
        }
    }
    let picture = Picture::new(doubles(&to), [width, height, 1], 4, [Edge::Zero; 3]);
    for y in 0..height {
        for x in 0..width {
            let place = [x as f64 + 0.75, y as f64 + 0.625, 0.0];
            for channel in 0..4 {
                let value = picture.mixed(place, 2, channel) / 255.0;
                out[4 * (y * width + x) + channel] = value as f32;
            }
        }
    }
    Ok(vec![
        Output::new("to", Values::U8(to)),
        Output::new("out", Values::F32(out)),
    ])
}

/// A volume blurred along z, a stack with a factor for each layer, a line mirrored.
pub(crate) fn shapes(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let (width, height) = (inputs.size("width")?, inputs.size("height")?);
    let depth = inputs.size("depth")?;
    let size = count(&[width, height]);
    let volume = inputs.f32s("volume", count(&[size, depth]))?;
    let mut result = inputs.f32s("result", count(&[size, depth]))?;
    let mut stack = inputs.f32s("stack", count(&[2, size, depth]))?;
    let mut line = inputs.u16s("line", width)?;
    for z in 0..depth {
        for at in 0..size {
            let before = volume[z.saturating_sub(1) * size + at];
            let after = volume[(z + 1).min(depth - 1) * size + at];
            let sides = 0.25 * (before + after);
            result[z * size + at] = 0.5f32.mul_add(volume[z * size + at], sides);
            stack[2 * (z * size + at)] *= z as f32;
            stack[2 * (z * size + at) + 1] += z as f32;
        }
    }
    line[..width].reverse();
    Ok(vec![
        Output::new("result", Values::F32(result)),
        Output::new("stack", Values::F32(stack)),
        Output::new("line", Values::U16(line)),
    ])
}

/// Sums, minima, maxima and unions by the lowest four bits; places from `width` on are dropped.
pub(crate) fn votes(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let (n, width) = (inputs.size("n")?, inputs.size("width")?);
    let values = inputs.i32s("values", n)?;
    let mut table = inputs.i32s("table", count(&[4, width]))?;
    for &value in &values[..n] {
        let place = (value & 15) as usize;
        if place >= width {
            continue;
        }
        table[place] = table[place].wrapping_add(1);
        table[width + place] = table[width + place].min(value);
        table[2 * width + place] = table[2 * width + place].max(value);
        table[3 * width + place] |= value;
    }
    Ok(vec![Output::new("table", Values::I32(table))])
}

/// Pairs of halves, and bytes clamped from unsigned integers, of 8 x 4 texels.
pub(crate) fn convert(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let values = inputs.f32s("values", 32)?;
    let integers = inputs.i32s("integers", 32)?;
    let mut pairs = inputs.f16s("halves", 64)?;
    let mut bytes = inputs.u8s("bytes", 128)?;
    for i in 0..32 {
        for k in 0..2 {
            pairs[2 * i + k] = f16::from_f32(values[i ^ k]);
        }
        for k in 0..4 {
            bytes[4 * i + k] = (integers[i ^ k] as u32).min(255) as u8;
        }
    }
    Ok(vec![
        Output::new("halves", Values::F16(pairs)),
        Output::new("bytes", Values::U8(bytes)),
    ])
}

/// Square images or cubes of images, level by level, in each one behind the other.
struct Pyramid {
    texels: Vec<f64>,
    /// Texels along each axis, and how many axes there are.
    size: usize,
    axes: u32,
    /// Images in each level.
    images: usize,
    edge: Edge,
}

impl Pyramid {
    /// Texels that `levels` levels have.
    fn texels(size: usize, axes: u32, images: usize, levels: usize) -> usize {
        (0..levels.min(32))
            .map(|level| count(&[(size >> level).max(1).saturating_pow(axes), images]))
            .fold(0, usize::saturating_add)
    }

    /// 255 times the linear mean at a whole level, at a place from 0 to 1 along each axis.
    fn at(&self, level: usize, image: usize, place: [f64; 3]) -> f64 {
        let size = (self.size >> level).max(1);
        let one = size.pow(self.axes);
        let start = Pyramid::texels(self.size, self.axes, self.images, level) + image * one;
        let mut extent = [1; 3];
        extent[..self.axes as usize].fill(size);
        let texels = self.texels[start..start + one].to_vec();
        let picture = Picture::new(texels, extent, 1, [self.edge; 3]);
        picture.mixed(place.map(|c| c * size as f64), self.axes as usize, 0)
    }
}

/// Whole levels from given derivatives: a volume, a cube and two cubes of bytes.
pub(crate) fn gradients(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let n = inputs.size("n")?;
    let size = 16;
    let bytes = |name: &str, axes, images, levels| -> Result<Pyramid, ReferenceError> {
        let texels = inputs.u8s(name, Pyramid::texels(size, axes, images, levels))?;
        let edge = if axes == 3 { Edge::Mirror } else { Edge::Clamp };
        Ok(Pyramid {
            texels: doubles(&texels),
            size,
            axes,
            images,
            edge,
        })
    };
    let volume = bytes("volume", 3, 1, 5)?;
    let cube = bytes("cube", 2, 6, 3)?;
    let several = bytes("several", 2, 12, 2)?;
    let mut out = inputs.f32s("out", count(&[3, n]))?;
    for i in 0..n {
        let across = ((i % 7) as f32).mul_add(0.0625, -0.3125);
        let down = ((i % 5) as f32).mul_add(0.125, -0.375);
        // The longer derivative is 2^(k + 1) texels of the volume, 2^(k - 1) of a cube's face.
        let k = i % 3;
        let step = 0.0625 * (1 << k) as f32;
        let one = if i % 2 == 1 { -1.0 } else { 1.0 };
        let axis = i / 2 % 3;
        let direction = match axis {
            0 => [one, across, down],
            1 => [across, one, down],
            _ => [across, down, one],
        };
        let (face, s, t) = face(direction, axis);
        let on_face = [s, t, -1.0].map(|c| (f64::from(c) + 1.0) / 2.0);
        let sample = |pyramid: &Pyramid, level: usize, image: usize, place: [f64; 3]| {
            (pyramid.at(level, image, place) / 255.0) as f32
        };
        let level = k.saturating_sub(1);
        if i % 5 != 1 {
            let place = [across, down, step].map(f64::from);
            out[i] = sample(&volume, k + 1, 0, place);
            out[n + i] = sample(&cube, level, face, on_face);
        } else {
            out[i] = across;
            out[n + i] = step;
        }
        out[2 * n + i] = sample(&several, level, 6 * (i % 3).min(1) + face, on_face);
    }
    Ok(vec![Output::new("out", Values::F32(out))])
}

/// Bytes in sRGB's curve made linear, then mixed; words with all bits turned beside their own.
pub(crate) fn references(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let (n, width, height) = (
        inputs.size("n")?,
        inputs.size("width")?,
        inputs.size("height")?,
    );
    let step = inputs.f32("step")?;
    let image = inputs.u8s("image", count(&[4, width, height]))?;
    let mut table = inputs.u32s("table", count(&[2, n]))?;
    let mut out = inputs.f32s("out", count(&[4, n]))?;
    let linear = |(place, &byte): (usize, &u8)| {
        let stored = f64::from(byte) / 255.0;
        if place % 4 == 3 {
            stored
        } else if stored <= 0.04045 {
            stored / 12.92
        } else {
            ((stored + 0.055) / 1.055).powf(2.4)
        }
    };
    let texels = image.iter().enumerate().map(linear).collect();
    let picture = Picture::new(texels, [width, height, 1], 4, [Edge::Clamp; 3]);
    for i in 0..n {
        let at = f64::from((i as f32).mul_add(step, 0.125));
        for channel in 0..4 {
            out[4 * i + channel] = picture.mixed([at, at, 0.0], 2, channel) as f32;
        }
        table[n + i] = !table[i];
    }
    Ok(vec![
        Output::new("out", Values::F32(out)),
        Output::new("table", Values::U32(table)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_two_texels_lies_their_mean() {
        let texels = vec![0.0, 8.0, 4.0, 12.0];
        let picture = Picture::new(texels, [2, 2, 1], 1, [Edge::Clamp; 3]);
        assert_eq!(picture.mixed([1.0, 0.5, 0.0], 2, 0), 4.0);
        assert_eq!(picture.mixed([1.0, 1.0, 0.0], 2, 0), 6.0);
        assert_eq!(picture.mixed([-5.0, 9.0, 0.0], 2, 0), 4.0);
    }

    #[test]
    fn edges_repeat_mirror_or_end() {
        let at = |edge, index| {
            Picture::new(vec![1.0, 2.0, 3.0], [3, 1, 1], 1, [edge; 3]).texel([index, 0, 0], 0)
        };
        let row = |edge| [-4, -1, 3, 6].map(|index| at(edge, index));
        assert_eq!(row(Edge::Clamp), [1.0, 1.0, 3.0, 3.0]);
        assert_eq!(row(Edge::Wrap), [3.0, 3.0, 1.0, 1.0]);
        assert_eq!(row(Edge::Mirror), [3.0, 1.0, 3.0, 1.0]);
        assert_eq!(row(Edge::Zero), [0.0; 4]);
    }
}
