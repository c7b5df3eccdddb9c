//! What a texel holds: its channels as they lie in memory and as a fetch returns them.

use crate::rounding::{f32_to_half, half_to_f32};

/// Type of a channel (`cudaChannelFormatDesc`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum ChannelType {
    U8,
    U16,
    U32,
    S8,
    S16,
    S32,
    F16,
    F32,
}

impl ChannelType {
    /// Bytes of a channel.
    pub const fn bytes(self) -> u32 {
        match self {
            ChannelType::U8 | ChannelType::S8 => 1,
            ChannelType::U16 | ChannelType::S16 | ChannelType::F16 => 2,
            ChannelType::U32 | ChannelType::S32 | ChannelType::F32 => 4,
        }
    }

    /// Whether channels are floating-point numbers.
    pub const fn is_real(self) -> bool {
        matches!(self, ChannelType::F16 | ChannelType::F32)
    }

    /// Whether channels are signed integers.
    pub const fn is_signed(self) -> bool {
        matches!(self, ChannelType::S8 | ChannelType::S16 | ChannelType::S32)
    }

    /// The numerator that stands for 1 in a normalized fetch; `None` if there are no such fetches.
    pub const fn unit(self) -> Option<u32> {
        match self {
            ChannelType::U8 => Some(0xff),
            ChannelType::U16 => Some(0xffff),
            ChannelType::S8 => Some(0x7f),
            ChannelType::S16 => Some(0x7fff),
            _ => None,
        }
    }

    /// A channel's value from its bytes in the low bits of `raw`: integers extended to 32 bits, reals
    /// as bits of a single-precision number.
    #[inline]
    pub(crate) fn widen(self, raw: u32) -> u32 {
        match self {
            ChannelType::U8 => raw & 0xff,
            ChannelType::U16 => raw & 0xffff,
            ChannelType::S8 => raw as u8 as i8 as i32 as u32,
            ChannelType::S16 => raw as u16 as i16 as i32 as u32,
            ChannelType::F16 => half_to_f32(raw & 0xffff).to_bits(),
            ChannelType::U32 | ChannelType::S32 | ChannelType::F32 => raw,
        }
    }

    /// The bytes that hold a 32-bit value: integers are clamped to the channel's range, reals rounded
    /// to nearest even.
    pub(crate) fn narrow(self, value: u32) -> u32 {
        match self {
            ChannelType::U8 => value.min(0xff),
            ChannelType::U16 => value.min(0xffff),
            ChannelType::S8 => (value as i32).clamp(-0x80, 0x7f) as u32 & 0xff,
            ChannelType::S16 => (value as i32).clamp(-0x8000, 0x7fff) as u32 & 0xffff,
            ChannelType::F16 => f32_to_half(f32::from_bits(value)),
            ChannelType::U32 | ChannelType::S32 | ChannelType::F32 => value,
        }
    }
}

/// Format of a texel: one, two or four channels of one type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TexelFormat {
    /// Type of every channel.
    pub channel: ChannelType,
    /// Number of channels: 1, 2 or 4.
    pub channels: u32,
}

impl TexelFormat {
    /// Bytes of a texel: 1, 2, 4, 8 or 16.
    pub const fn bytes(self) -> u32 {
        self.channel.bytes() * self.channels
    }

    /// Channel `index` of a texel whose bytes are `words`, widened.
    #[inline]
    pub(crate) fn channel_of(self, words: [u32; 4], index: u32) -> u32 {
        let bits = 8 * self.channel.bytes() * index;
        let word = words[(bits / 32) as usize & 3];
        self.channel.widen(word >> (bits % 32))
    }

    /// Puts the value of channel `index` into the bytes of a texel, which are zero there.
    pub(crate) fn put_channel(self, words: &mut [u32; 4], index: u32, value: u32) {
        let bits = 8 * self.channel.bytes() * index;
        words[(bits / 32) as usize & 3] |= self.channel.narrow(value) << (bits % 32);
    }
}
