//! Integers in 128 bits: sums, products, shifts, logic, bit fields, comparisons, packed operations.

use sass::{Modifier as M, Opcode, Select};

use super::lane::Lane;

fn signed(word: u32) -> i128 {
    i128::from(word as i32)
}

fn number(word: u32, is_signed: bool) -> i128 {
    if is_signed {
        signed(word)
    } else {
        i128::from(word)
    }
}

/// The bits of a field as a number.
fn field(word: u32, first: u32, bits: u32, is_signed: bool) -> i128 {
    let value = i128::from(word >> first) % (1 << bits);
    if is_signed && value >> (bits - 1) == 1 {
        value - (1 << bits)
    } else {
        value
    }
}

/// Value of a negatable source as the adder sees it: `~x` or `-x`, of 32 bits, unsigned, so that
/// carries are those of the words. `-x` is `~x` and a carry into the lowest bit.
fn addend(word: u32, negative: bool, extended: bool) -> i128 {
    match (negative, extended) {
        (false, _) => i128::from(word),
        (true, true) => i128::from(!word),
        (true, false) => i128::from(!word) + 1,
    }
}

fn add3(l: &mut Lane<'_>) {
    let extended = l.has(M::X);
    let d = l.destination();
    let (p, q) = (l.optional_predicate(), l.optional_predicate());
    let mut sum = 0;
    for _ in 0..3 {
        let (word, negative) = l.signed_word();
        sum += addend(word, negative, extended);
    }
    if extended {
        sum += i128::from(l.predicate_or(false)) + i128::from(l.predicate_or(false));
    }
    l.write(d, sum as u32);
    l.write_predicate(p, sum >> 32 >= 1);
    l.write_predicate(q, sum >> 32 >= 2);
}

fn multiply_add(l: &mut Lane<'_>) {
    let (extended, is_signed) = (l.has(M::X), !l.has(M::U32));
    let d = l.destination();
    if !l.has(M::WIDE) && !l.has(M::HI) {
        let product = signed(l.word()) * signed(l.word());
        let (c, negative) = l.signed_word();
        let mut sum = product + addend(c, negative, extended);
        if extended {
            sum += i128::from(l.predicate_or(false));
        }
        l.write(d, sum as u32);
        return;
    }
    let p = l.optional_predicate();
    let product = number(l.word(), is_signed) * number(l.word(), is_signed);
    let (c, adjust) = l.wide(false);
    let c = match (adjust.negate || adjust.invert, extended) {
        (false, _) => i128::from(c),
        (true, true) => i128::from(!c),
        (true, false) => i128::from(!c) + 1,
    };
    // Carries are those of the 64-bit words, so the product is read as one without sign.
    let mut sum = i128::from(product as u64) + c;
    if extended {
        sum += i128::from(l.predicate_or(false));
    }
    if l.has(M::WIDE) {
        l.write_wide(d, sum as u64);
    } else {
        l.write(d, (sum >> 32) as u32);
    }
    l.write_predicate(p, sum >> 64 != 0);
}

/// The function of a table bit by bit.
fn table(a: u32, b: u32, c: u32, lut: u32) -> u32 {
    (0..32)
        .map(|k| {
            let index = (a >> k & 1) << 2 | (b >> k & 1) << 1 | (c >> k & 1);
            (lut >> index & 1) << k
        })
        .sum()
}

fn logic3(l: &mut Lane<'_>) {
    let p = l.optional_predicate();
    let d = l.destination();
    let (a, b, c) = (l.word(), l.word(), l.word());
    let lut = l.immediate() as u32;
    let with = l.predicate_or(false);
    let result = table(a, b, c, lut);
    l.write(d, result);
    let set = result != 0;
    l.write_predicate(
        p,
        if l.has(M::PAND) {
            set && with
        } else {
            set || with
        },
    );
}

fn shift(l: &mut Lane<'_>) {
    let d = l.destination();
    let (low, amount, high) = (l.word(), l.word(), l.word());
    let wide = l.has(M::S64) || l.has(M::U64);
    let is_signed = l.has(M::S64) || l.has(M::S32);
    let bits = if wide { 64 } else { 32 };
    let amount = if l.has(M::W) {
        amount % bits
    } else {
        amount.min(bits)
    };
    let pair = i128::from(high) << 32 | i128::from(low);
    let result = if l.has(M::L) {
        pair << amount
    } else if is_signed {
        i128::from(pair as u64 as i64) >> amount
    } else {
        pair >> amount
    };
    let result = if l.has(M::HI) { result >> 32 } else { result };
    l.write(d, result as u32);
}

fn shift_add(l: &mut Lane<'_>) {
    let (extended, high, sign) = (l.has(M::X), l.has(M::HI), l.has(M::SX32));
    let d = l.destination();
    let p = l.optional_predicate();
    let (a, na) = l.signed_word();
    let (b, nb) = l.signed_word();
    let c = if high && !sign { l.word() } else { 0 };
    let amount = l.immediate() as u32;
    let shifted = if !high {
        i128::from(a) << amount
    } else {
        let pair = if sign {
            signed(a)
        } else {
            i128::from(c) << 32 | i128::from(a)
        };
        pair << amount >> 32
    };
    let mut sum = addend(shifted as u32, na, extended) + addend(b, nb, extended);
    if extended {
        sum += i128::from(l.predicate_or(false));
    }
    l.write(d, sum as u32);
    l.write_predicate(p, sum >> 32 != 0);
}

fn minimum_maximum(l: &mut Lane<'_>) {
    let is_signed = !l.has(M::U32);
    let d = l.destination();
    let (a, b) = (number(l.word(), is_signed), number(l.word(), is_signed));
    let result = if l.predicate() { a.min(b) } else { a.max(b) };
    l.write(d, result as u32);
}

fn leading(l: &mut Lane<'_>) {
    let d = l.destination();
    let (word, invert) = l.signed_word();
    let word = if invert { !word } else { word };
    let sought = if !l.has(M::U32) && word >> 31 == 1 {
        0
    } else {
        1
    };
    let found = (0..32u32).rev().find(|&k| word >> k & 1 == sought);
    l.write(
        d,
        match found {
            None => u32::MAX,
            Some(k) if l.has(M::SH) => 31 - k,
            Some(k) => k,
        },
    );
}

fn mask(l: &mut Lane<'_>) {
    let d = l.destination();
    let (first, width) = (l.word(), l.word());
    let (first, width) = if l.has(M::W) {
        (first % 32, width % 32)
    } else {
        (first.min(32), width.min(32))
    };
    let result: u64 = (first..first + width)
        .filter(|&k| k < 32)
        .map(|k| 1u64 << k)
        .sum();
    l.write(d, result as u32);
}

fn extend(l: &mut Lane<'_>) {
    let d = l.destination();
    let (word, width) = (l.word(), l.word());
    let width = if l.has(M::W) {
        width % 32
    } else {
        width.min(32)
    };
    let result = if width == 0 {
        0
    } else {
        field(word, 0, width, !l.has(M::U32))
    };
    l.write(d, result as u32);
}

fn dot(l: &mut Lane<'_>) {
    let types: Vec<bool> = l
        .instruction
        .modifiers
        .iter()
        .filter_map(|m| match m.text() {
            "S8" | "S16" => Some(true),
            "U8" | "U16" => Some(false),
            _ => None,
        })
        .collect();
    let d = l.destination();
    let (a, b) = (l.word(), l.word());
    let (c, negative) = l.signed_word();
    let mut sum = addend(c, negative, false);
    if l.named("2A") {
        let first = if l.has(M::HI) { 16 } else { 0 };
        for k in 0..2 {
            sum += field(a, 16 * k, 16, types[0]) * field(b, first + 8 * k, 8, types[1]);
        }
    } else {
        for k in 0..4 {
            sum += field(a, 8 * k, 8, types[0]) * field(b, 8 * k, 8, types[1]);
        }
    }
    l.write(d, sum as u32);
}

fn absolute_difference(l: &mut Lane<'_>) {
    let is_signed = !l.has(M::U32);
    let d = l.destination();
    let (a, b) = (number(l.word(), is_signed), number(l.word(), is_signed));
    let c = i128::from(l.word());
    l.write(d, ((a - b).abs() + c) as u32);
}

fn absolute_difference4(l: &mut Lane<'_>) {
    let is_signed = !l.has(M::U8);
    let d = l.destination();
    let (a, b, c) = (l.word(), l.word(), i128::from(l.word()));
    let difference = |k: u32| (field(a, 8 * k, 8, is_signed) - field(b, 8 * k, 8, is_signed)).abs();
    let result: i128 = if l.has(M::ACC) {
        (0..4).map(difference).sum::<i128>() + c
    } else {
        (0..4).map(|k| difference(k) << (8 * k)).sum::<i128>() + c
    };
    l.write(d, result as u32);
}

fn compare(l: &mut Lane<'_>) {
    let is_signed = !l.has(M::U32);
    let (p, q) = (l.predicate_destination(), l.predicate_destination());
    let (a, b) = (number(l.word(), is_signed), number(l.word(), is_signed));
    let with = l.predicate();
    let order = a.cmp(&b);
    let name = l.instruction.modifiers[0].text();
    if l.has(M::EX) {
        // The words below decide where these are equal: `less` and the like of the whole.
        let below = l.predicate();
        if order.is_eq() {
            let holds = match name {
                "F" => false,
                "T" => true,
                _ => below,
            };
            return combined(l, p, q, holds, with);
        }
    }
    let holds = match name {
        "F" => false,
        "LT" => order.is_lt(),
        "EQ" => order.is_eq(),
        "LE" => order.is_le(),
        "GT" => order.is_gt(),
        "NE" => order.is_ne(),
        "GE" => order.is_ge(),
        "T" => true,
        other => panic!("comparison {other}"),
    };
    combined(l, p, q, holds, with);
}

/// Writes a comparison and its negation, each combined with a predicate.
pub fn combined(
    l: &mut Lane<'_>,
    p: super::lane::PredicateDestination,
    q: super::lane::PredicateDestination,
    holds: bool,
    with: bool,
) {
    let combine = |value: bool| {
        if l.has(M::AND) {
            value && with
        } else if l.has(M::OR) {
            value || with
        } else {
            assert!(l.has(M::XOR));
            value != with
        }
    };
    let (first, second) = (combine(holds), combine(!holds));
    l.write_predicate(p, first);
    l.write_predicate(q, second);
}

fn predicate_logic(l: &mut Lane<'_>) {
    let (p, q) = (l.predicate_destination(), l.predicate_destination());
    let bits: Vec<u32> = (0..3)
        .map(|_| {
            if l.at_predicate() {
                u32::from(l.predicate())
            } else {
                let (word, _, select) = l.raw();
                assert_eq!(select, Select::Sign);
                word >> 31
            }
        })
        .collect();
    let index = bits[0] << 2 | bits[1] << 1 | bits[2];
    let (first, second) = (l.immediate(), l.immediate());
    l.write_predicate(p, first >> index & 1 == 1);
    l.write_predicate(q, second >> index & 1 == 1);
}

fn byte(select: Select) -> u32 {
    match select {
        Select::None | Select::B0 => 0,
        Select::B1 => 8,
        Select::B2 => 16,
        Select::B3 => 24,
        other => panic!("{other:?}"),
    }
}

fn predicates_from(l: &mut Lane<'_>) {
    l.skip();
    let (word, _, select) = l.raw();
    let chosen = if l.peek().is_some() { l.word() } else { 0x7f };
    for k in (0..7u8).filter(|k| chosen >> k & 1 == 1) {
        let set = word >> (byte(select) + u32::from(k)) & 1 == 1;
        l.writes.push(super::lane::Write::Predicate(k, set));
    }
}

fn predicates_to(l: &mut Lane<'_>) {
    let d = l.destination();
    l.skip();
    let shift = [(M::B1, 8), (M::B2, 16), (M::B3, 24)]
        .into_iter()
        .find(|(m, _)| l.has(*m))
        .map_or(0, |(_, shift)| shift);
    let (a, chosen) = (l.word(), l.word() & 0x7f);
    let predicates = l.predicates();
    l.write(
        d,
        (0..32)
            .map(|k: u32| {
                let from = k
                    .checked_sub(shift)
                    .filter(|&n| n < 7 && chosen >> n & 1 == 1);
                from.map_or(a >> k & 1, |n| predicates >> n & 1) << k
            })
            .sum(),
    );
}

fn permute(l: &mut Lane<'_>) {
    let d = l.destination();
    let (a, selector, c) = (l.word(), l.word(), l.word());
    let bytes: Vec<u8> = a.to_le_bytes().into_iter().chain(c.to_le_bytes()).collect();
    let mode = l.instruction.modifiers.first().map_or("", |m| m.text());
    let n = selector as usize % 4;
    // PTX ISA, `prmt`: which bytes each mode takes, lowest first.
    let chosen: [usize; 4] = match (mode, n) {
        ("", _) => [0, 4, 8, 12].map(|shift| selector as usize >> shift & 15),
        ("F4E", _) => [n, n + 1, n + 2, n + 3],
        ("B4E", _) => [n, (n + 7) % 8, (n + 6) % 8, (n + 5) % 8],
        ("RC8", _) => [n; 4],
        ("ECL", 0) => [0, 1, 2, 3],
        ("ECL", 1) => [1, 1, 2, 3],
        ("ECL", 2) => [2, 2, 2, 3],
        ("ECL", _) => [3; 4],
        ("ECR", 0) => [0; 4],
        ("ECR", 1) => [0, 1, 1, 1],
        ("ECR", 2) => [0, 1, 2, 2],
        ("ECR", _) => [0, 1, 2, 3],
        ("RC16", 0 | 2) => [0, 1, 0, 1],
        ("RC16", _) => [2, 3, 2, 3],
        (other, _) => panic!("PRMT.{other}"),
    };
    let result = chosen.map(|index| {
        let byte = bytes[index % 8];
        match index {
            8.. if byte >= 0x80 => 0xff,
            8.. => 0,
            _ => byte,
        }
    });
    l.write(d, u32::from_le_bytes(result));
}

fn copy(l: &mut Lane<'_>) {
    let d = l.destination();
    let a = l.word();
    let lanes = if l.peek().is_some() {
        l.immediate()
    } else {
        15
    };
    if lanes >> (l.lane % 4) & 1 == 1 {
        l.write(d, a);
    }
}

fn select(l: &mut Lane<'_>) {
    let d = l.destination();
    let (a, b) = (l.word(), l.word());
    let chosen = if l.predicate() { a } else { b };
    l.write(d, chosen);
}

/// A field of a packed word, or the word.
fn parts(l: &Lane<'_>) -> (Vec<u32>, u32, bool) {
    let halves = ["S16x2", "U16x2", "16x2"].iter().any(|n| l.named(n));
    let is_signed = !l.named("U32") && !l.named("U16x2");
    if halves {
        (vec![0, 16], 16, is_signed)
    } else {
        (vec![0], 32, is_signed)
    }
}

fn packed_add(l: &mut Lane<'_>) {
    let (firsts, bits, _) = parts(l);
    let d = l.destination();
    let ((a, na), (b, nb)) = (l.signed_word(), l.signed_word());
    let sign = |negative: bool| if negative { -1 } else { 1 };
    let result: i128 = firsts
        .iter()
        .map(|&k| {
            let sum = field(a, k, bits, false) * sign(na) + field(b, k, bits, false) * sign(nb);
            sum.rem_euclid(1 << bits) << k
        })
        .sum();
    l.write(d, result as u32);
}

fn packed_choose(l: &mut Lane<'_>) {
    let (firsts, bits, is_signed) = parts(l);
    let (relu, opcode) = (l.has(M::RELU), l.instruction.opcode);
    let d = l.destination();
    let out = [l.optional_predicate(), l.optional_predicate()];
    let count = if opcode == Opcode::VIMNMX { 2 } else { 3 };
    let sources: Vec<(u32, bool)> = (0..count).map(|_| l.signed_word()).collect();
    let minimum = l.predicate();
    let mut result = 0;
    for (n, &k) in firsts.iter().enumerate() {
        let wrap = |value: i128| field(value.rem_euclid(1 << bits) as u32, 0, bits, is_signed);
        let mut values: Vec<i128> = sources
            .iter()
            .map(|&(word, negative)| {
                let value = field(word, k, bits, is_signed);
                wrap(if negative { -value } else { value })
            })
            .collect();
        if opcode == Opcode::VIADDMNMX {
            values = vec![wrap(values[0] + values[1]), values[2]];
        }
        let chosen = if minimum {
            *values.iter().min().unwrap()
        } else {
            *values.iter().max().unwrap()
        };
        if opcode == Opcode::VIMNMX {
            l.write_predicate(out[n], chosen != values[0]);
        }
        // What is negative is read from the top bit, whatever the type.
        let top = chosen.rem_euclid(1 << bits) >> (bits - 1) == 1;
        let chosen = if relu && top { 0 } else { chosen };
        result |= chosen.rem_euclid(1 << bits) << k;
    }
    l.write(d, result as u32);
}

/// Expects what an integer instruction does.
pub fn expect(l: &mut Lane<'_>) {
    use Opcode::*;
    match l.instruction.opcode {
        IADD3 | UIADD3 => add3(l),
        IMAD | UIMAD => multiply_add(l),
        LOP3 | ULOP3 => logic3(l),
        SHF | USHF => shift(l),
        LEA | ULEA => shift_add(l),
        IABS => {
            let d = l.destination();
            let value = signed(l.word()).abs();
            l.write(d, value as u32);
        }
        IMNMX => minimum_maximum(l),
        FLO | UFLO => leading(l),
        POPC | UPOPC => {
            let d = l.destination();
            let (word, invert) = l.signed_word();
            let ones = (0..32).filter(|k| (word >> k & 1 == 1) != invert).count();
            l.write(d, ones as u32);
        }
        BREV | UBREV => {
            let d = l.destination();
            let word = l.word();
            l.write(d, (0..32).map(|k| (word >> k & 1) << (31 - k)).sum());
        }
        BMSK | UBMSK => mask(l),
        SGXT | USGXT => extend(l),
        IDP => dot(l),
        VABSDIFF => absolute_difference(l),
        VABSDIFF4 => absolute_difference4(l),
        ISETP | UISETP => compare(l),
        PLOP3 | UPLOP3 => predicate_logic(l),
        R2P => predicates_from(l),
        P2R => predicates_to(l),
        PRMT | UPRMT => permute(l),
        MOV | UMOV => copy(l),
        SEL | USEL => select(l),
        VIADD => packed_add(l),
        VIMNMX | VIMNMX3 | VIADDMNMX => packed_choose(l),
        other => panic!("{} is no integer instruction", other.text()),
    }
}
