//! Integer arithmetic of one lane, shared by the vector and the uniform datapath.

/// How a shift works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shift {
    pub(crate) right: bool,
    pub(crate) wrap: bool,
    pub(crate) signed: bool,
    pub(crate) wide: bool,
    pub(crate) high: bool,
}

/// How a shift and add works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ShiftAdd {
    pub(crate) shift: u8,
    /// Takes the upper word of the shifted pair.
    pub(crate) high: bool,
    /// The upper word is the sign of a.
    pub(crate) sign: bool,
    /// Adds a carry, and complements instead of negating.
    pub(crate) extended: bool,
    /// Bit 0: the shifted value is negated, bit 1: b is.
    pub(crate) negate: u8,
}

/// How a dot product works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Dot {
    /// Two products of halves and bytes instead of four of bytes.
    pub(crate) halves: bool,
    /// Upper pair of bytes of b.
    pub(crate) high: bool,
    pub(crate) signed_a: bool,
    pub(crate) signed_b: bool,
    pub(crate) negate: bool,
}

/// The 34-bit sum of three words: complemented (and, unless `extended`, incremented) where `negate`
/// says so, plus a number of carries.
#[inline(always)]
pub(crate) fn add3(words: [u32; 3], negate: u8, extended: bool, carries: u32) -> u64 {
    let mut sum = u64::from(carries);
    let mut k = 0;
    while k < 3 {
        let negated = negate >> k & 1 == 1;
        let word = if negated { !words[k] } else { words[k] };
        sum += u64::from(word) + u64::from(negated && !extended);
        k += 1;
    }
    sum
}

/// Funnel shift of {high, low}.
#[inline(always)]
pub(crate) fn shift(low: u32, amount: u32, high: u32, kind: Shift) -> u32 {
    let bits = if kind.wide { 64 } else { 32 };
    let amount = if kind.wrap {
        amount & (bits - 1)
    } else {
        amount.min(bits)
    };
    let pair = u64::from(high) << 32 | u64::from(low);
    let shifted = if amount == 64 {
        if kind.right && kind.signed {
            ((pair as i64) >> 63) as u64
        } else {
            0
        }
    } else if !kind.right {
        pair << amount
    } else if kind.signed {
        ((pair as i64) >> amount) as u64
    } else {
        pair >> amount
    };
    if kind.high {
        (shifted >> 32) as u32
    } else {
        shifted as u32
    }
}

/// (a << shift) + b + carry with its carry out in bit 32.
#[inline(always)]
pub(crate) fn shift_add(a: u32, b: u32, c: u32, carry: u32, kind: ShiftAdd) -> u64 {
    let shifted = if kind.high {
        let upper = if kind.sign {
            ((a as i32) >> 31) as u32
        } else {
            c
        };
        ((u64::from(upper) << 32 | u64::from(a)) << kind.shift >> 32) as u32
    } else {
        a << kind.shift
    };
    add3([shifted, b, 0], kind.negate, kind.extended, carry)
}

/// Position of the highest one (or, signed, of the highest bit unlike the sign).
#[inline(always)]
pub(crate) fn leading_one(word: u32, signed: bool, shift: bool) -> u32 {
    let word = if signed && word >> 31 == 1 {
        !word
    } else {
        word
    };
    let zeros = word.leading_zeros();
    if word == 0 {
        u32::MAX
    } else if shift {
        zeros
    } else {
        31 - zeros
    }
}

/// `width` ones from bit `first` up.
#[inline(always)]
pub(crate) fn bit_mask(first: u32, width: u32, wrap: bool) -> u32 {
    let (first, width) = if wrap {
        (first & 31, width & 31)
    } else {
        (first.min(32), width.min(32))
    };
    let ones = ((1u64 << width) - 1) as u32;
    ((u64::from(ones)) << first) as u32
}

/// The low `width` bits extended by sign or zeros.
#[inline(always)]
pub(crate) fn extend(word: u32, width: u32, wrap: bool, signed: bool) -> u32 {
    let width = if wrap { width & 31 } else { width.min(32) };
    if width == 0 {
        0
    } else if signed {
        ((word << (32 - width)) as i32 >> (32 - width)) as u32
    } else {
        word << (32 - width) >> (32 - width)
    }
}

/// 128-bit sum behind IMAD.WIDE: the 64-bit result and the carry out.
#[inline(always)]
pub(crate) fn multiply_add_wide(
    a: u32,
    b: u32,
    c: u64,
    signed: bool,
    negate: bool,
    extended: bool,
    carry: u32,
) -> (u64, bool) {
    let product = if signed {
        (i64::from(a as i32) * i64::from(b as i32)) as u64
    } else {
        u64::from(a) * u64::from(b)
    };
    let c = if negate { !c } else { c };
    let one = u64::from(negate && !extended) + u64::from(carry);
    let (sum, first) = product.overflowing_add(c);
    let (sum, second) = sum.overflowing_add(one);
    (sum, first | second)
}

/// One bit per minterm of three inputs.
#[inline(always)]
pub(crate) fn logic3(a: u32, b: u32, c: u32, table: u8) -> u32 {
    match table {
        0xc0 => a & b,
        0xfc => a | b,
        0x3c => a ^ b,
        0x33 => !b,
        0x30 => a & !b,
        0x0c => !a & b,
        0x96 => a ^ b ^ c,
        0xf8 => a | b & c,
        0xea => a & b | c,
        0xfe => a | b | c,
        0x80 => a & b & c,
        0xe2 => (a & b) | (c & !b),
        0xb8 => (a & !b) | (c & b),
        0xca => (b & a) | (c & !a),
        _ => {
            let mut result = 0;
            let mut minterm = 0u32;
            while minterm < 8 {
                let selected = 0u32.wrapping_sub((table >> minterm & 1) as u32);
                let pa = a ^ (minterm >> 2 & 1).wrapping_sub(1);
                let pb = b ^ (minterm >> 1 & 1).wrapping_sub(1);
                let pc = c ^ (minterm & 1).wrapping_sub(1);
                result |= pa & pb & pc & selected;
                minterm += 1;
            }
            result
        }
    }
}

#[inline(always)]
fn element(word: u32, index: u32, bits: u32, signed: bool) -> u32 {
    extend(word >> (index * bits), bits, false, signed)
}

/// Dot product of one lane.
#[inline(always)]
pub(crate) fn dot(a: u32, b: u32, c: u32, kind: Dot) -> u32 {
    let mut sum = if kind.negate { c.wrapping_neg() } else { c };
    if kind.halves {
        for k in 0..2 {
            let x = element(a, k, 16, kind.signed_a);
            let y = element(b, k + 2 * u32::from(kind.high), 8, kind.signed_b);
            sum = sum.wrapping_add(x.wrapping_mul(y));
        }
    } else {
        for k in 0..4 {
            let x = element(a, k, 8, kind.signed_a);
            let y = element(b, k, 8, kind.signed_b);
            sum = sum.wrapping_add(x.wrapping_mul(y));
        }
    }
    sum
}

pub(crate) fn absolute_difference4(a: u32, b: u32, c: u32, signed: bool, accumulate: bool) -> u32 {
    let mut packed = 0;
    let mut sum = c;
    for k in 0..4 {
        let x = element(a, k, 8, signed) as i32;
        let y = element(b, k, 8, signed) as i32;
        let difference = x.abs_diff(y);
        sum = sum.wrapping_add(difference);
        packed |= (difference & 0xff) << (8 * k);
    }
    if accumulate {
        sum
    } else {
        packed.wrapping_add(c)
    }
}
