//! Exchange across lanes against the PTX manual's description.

use sass::{Modifier as M, Opcode, Operand};

use super::*;

/// The source lane of a shuffle as the PTX manual has it.
fn source(direction: M, lane: i32, b: u32, c: u32) -> (usize, bool) {
    let bval = (b & 31) as i32;
    let cval = (c & 31) as i32;
    let segmask = (c >> 8 & 31) as i32;
    let max = (lane & segmask) | (cval & !segmask);
    let min = lane & segmask;
    let (j, valid) = match direction {
        M::UP => (lane - bval, lane - bval >= max),
        M::DOWN => (lane + bval, lane + bval <= max),
        M::BFLY => (lane ^ bval, (lane ^ bval) <= max),
        _ => {
            let j = min | (bval & !segmask);
            (j, j <= max)
        }
    };
    (if valid { j } else { lane } as usize, valid)
}

#[test]
fn shuffles_in_every_mode() {
    for direction in [M::IDX, M::UP, M::DOWN, M::BFLY] {
        for width in [1u32, 2, 4, 8, 16, 32] {
            let segment = (32 - width) << 8;
            for clamp in [0, 31] {
                for amount in 0..40 {
                    let operands = [p(0, false), r(0), r(1), imm(amount), imm(segment | clamp)];
                    let i = instruction(Opcode::SHFL, &[direction], &operands);
                    let mut w = warp();
                    set(&mut w, 1, |lane| 1000 + lane as u32);
                    let after = run(&i, &w);
                    for lane in 0..32 {
                        let (from, valid) = source(direction, lane, amount, segment | clamp);
                        let lane = lane as usize;
                        assert_eq!(after.registers[0][lane], 1000 + from as u32);
                        assert_eq!(after.predicates[0] >> lane & 1 == 1, valid);
                    }
                }
            }
        }
    }
}

#[test]
fn shuffles_by_register() {
    let i = instruction(
        Opcode::SHFL,
        &[M::IDX],
        &[pt(), r(0), r(1), r(2), imm(0x1f)],
    );
    let mut w = warp();
    set(&mut w, 1, |lane| 7 * lane as u32);
    set(&mut w, 2, |lane| (5 * lane as u32 + 3) % 32);
    let after = run_masked(&i, &w, 0x0fff_fff0);
    for lane in 0..32usize {
        let expected = if (4..28).contains(&lane) {
            7 * ((5 * lane as u32 + 3) % 32)
        } else {
            0
        };
        assert_eq!(after.registers[0][lane], expected);
    }
}

#[test]
fn votes_count_active_lanes_only() {
    let mask = 0x00ff_ff00;
    for (set_lanes, all, any, equal) in [
        (0, false, false, true),
        (0x00ff_ff00, true, true, true),
        (0xffff_ffff, true, true, true),
        (0x0000_0100, false, true, false),
        (0xff00_00ff, false, false, true),
    ] {
        for (mode, expected) in [(M::ALL, all), (M::ANY, any), (M::EQ, equal)] {
            let i = instruction(Opcode::VOTE, &[mode], &[r(0), p(1, false), p(0, false)]);
            let mut w = warp();
            w.predicates[0] = set_lanes;
            let after = run_masked(&i, &w, mask);
            assert_eq!(after.registers[0][10], set_lanes & mask);
            assert_eq!(after.registers[0][0], 0);
            assert_eq!(after.predicates[1], if expected { mask } else { 0 });
            let up = Operand::UniformPredicate {
                predicate: Predicate(1),
                negate: false,
            };
            let i = instruction(Opcode::VOTEU, &[mode], &[ur(3), up, p(0, false)]);
            let after = run_masked(&i, &w, mask);
            assert_eq!(after.uniforms[3], set_lanes & mask);
            assert_eq!(after.uniform_predicates >> 1 & 1 == 1, expected);
        }
    }
}

#[test]
fn matches() {
    let mask = 0x7fff_fff1;
    let mut w = warp();
    set(&mut w, 2, |lane| lane as u32 % 3);
    set(&mut w, 3, |lane| lane as u32 % 2);
    let any = run_masked(
        &instruction(Opcode::MATCH, &[M::ANY], &[r(0), r(2)]),
        &w,
        mask,
    );
    let wide = run_masked(
        &instruction(Opcode::MATCH, &[M::ANY, M::U64], &[r(0), r(2)]),
        &w,
        mask,
    );
    for lane in 0..32usize {
        let same = |step: usize| {
            (0..32)
                .filter(|&k| k % step == lane % step)
                .fold(0u32, |m, k| m | 1 << k)
                & mask
        };
        let active = mask >> lane & 1 == 1;
        assert_eq!(any.registers[0][lane], if active { same(3) } else { 0 });
        assert_eq!(wide.registers[0][lane], if active { same(6) } else { 0 });
    }
    let all = instruction(Opcode::MATCH, &[M::ALL], &[p(0, false), r(0), r(1)]);
    set(&mut w, 1, |lane| if lane == 1 { 9 } else { 5 });
    let after = run_masked(&all, &w, mask);
    assert_eq!((after.registers[0][4], after.predicates[0]), (mask, mask));
    set(&mut w, 1, |lane| if lane == 4 { 9 } else { 5 });
    let after = run_masked(&all, &w, mask);
    assert_eq!((after.registers[0][4], after.predicates[0]), (0, 0));
}

#[test]
fn reductions() {
    let mask = 0xf0f0_1234;
    let mut random = Random::new(41);
    let words: Vec<u32> = (0..32).map(|_| random.word()).collect();
    let active = || {
        (0..32)
            .filter(|lane| mask >> lane & 1 == 1)
            .map(|lane| words[lane])
    };
    let mut w = warp();
    set(&mut w, 1, |lane| words[lane]);
    let reduce = |modifiers: &[M]| {
        let i = instruction(Opcode::REDUX, modifiers, &[ur(2), r(1)]);
        run_masked(&i, &w, mask).uniforms[2]
    };
    assert_eq!(reduce(&[]), active().fold(u32::MAX, |a, b| a & b));
    assert_eq!(reduce(&[M::OR]), active().fold(0, |a, b| a | b));
    assert_eq!(reduce(&[M::XOR]), active().fold(0, |a, b| a ^ b));
    assert_eq!(
        reduce(&[M::SUM, M::S32]),
        active().fold(0u32, u32::wrapping_add)
    );
    assert_eq!(reduce(&[M::MIN]), active().min().unwrap());
    assert_eq!(
        reduce(&[M::MAX, M::S32]),
        active().map(|a| a as i32).max().unwrap() as u32
    );
}

#[test]
fn the_lowest_active_lane_is_elected() {
    let i = instruction(Opcode::ELECT, &[], &[p(1, false), ur(4), pt()]);
    for mask in [ALL, 0xffff_ff00, 0x8000_0000, 0x0101_0100] {
        let after = run_masked(&i, &warp(), mask);
        let first = (0..32).find(|lane| mask >> lane & 1 == 1).unwrap();
        assert_eq!(
            (after.uniforms[4], after.predicates[1]),
            (first, 1 << first)
        );
    }
}

#[test]
fn r2ur_takes_the_lowest_active_lane_and_tells_which_others_differ() {
    let i = instruction(Opcode::R2UR, &[], &[p(1, false), ur(4), r(1)]);
    let mut w = warp();
    set(&mut w, 1, |lane| if lane < 8 { lane as u32 } else { 50 });
    let after = run_masked(&i, &w, 0xffff_ff00);
    assert_eq!((after.uniforms[4], after.predicates[1]), (50, 0));
    let after = run_masked(&i, &w, 0xffff_ff80);
    assert_eq!((after.uniforms[4], after.predicates[1]), (7, 0xffff_ff00));
    // `.OR`: for the upper half of a pair, where the lower one may differ too.
    let joined = instruction(Opcode::R2UR, &[M::OR], &[p(1, false), ur(4), r(1)]);
    w.predicates[1] = 0x8000_0003;
    let after = run_masked(&joined, &w, 0xffff_ff01);
    assert_eq!((after.uniforms[4], after.predicates[1]), (0, 0xffff_ff03));
}

/// REDUX with every function and type that the encoding table knows, over lanes at random.
#[test]
fn reductions_of_every_kind() {
    let mut random = Random::new(17);
    let mut seen = std::collections::BTreeSet::new();
    super::instruction_bench::words::each(Opcode::REDUX, 1, |i| {
        if !seen.insert(i.modifiers.clone()) || crate::refusal(i).is_some() {
            return;
        }
        let has = |text: &str| i.modifiers.iter().any(|modifier| modifier.text() == text);
        for _ in 0..40 {
            let (mask, narrow) = (random.word() | 1 << (random.word() % 32), random.word() % 2);
            let words: Vec<u32> = (0..32)
                .map(|_| random.word() >> (narrow * 24) ^ random.word() << 31)
                .collect();
            let mut w = warp();
            set(&mut w, 1, |lane| words[lane]);
            let active = (0..32).filter(|lane| mask >> lane & 1 == 1);
            let value = |lane: usize| match has("S32") {
                true => i128::from(words[lane] as i32),
                false => i128::from(words[lane]),
            };
            let values: Vec<i128> = active.map(value).collect();
            let fold = |f: fn(i128, i128) -> i128| values.iter().copied().reduce(f).unwrap();
            let expected = if has("SUM") {
                fold(|a, b| a + b)
            } else if has("MIN") {
                fold(i128::min)
            } else if has("MAX") {
                fold(i128::max)
            } else if has("OR") {
                fold(|a, b| a | b)
            } else if has("XOR") {
                fold(|a, b| a ^ b)
            } else {
                fold(|a, b| a & b)
            };
            let reduce = instruction(Opcode::REDUX, &i.modifiers, &[ur(2), r(1)]);
            let found = run_masked(&reduce, &w, mask).uniforms[2];
            assert_eq!(found, expected as u32, "{} [{mask:#x}]", reduce.display(0));
        }
    });
    assert!(seen.len() >= 9, "{seen:?}");
}

/// MATCH with every suffix, over lanes and few values at random.
#[test]
fn matches_of_every_kind() {
    let mut random = Random::new(18);
    for (all, wide) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut modifiers = vec![if all { M::ALL } else { M::ANY }];
        modifiers.extend(wide.then_some(M::U64));
        let operands: &[Operand] = if all {
            &[p(3, false), r(4), r(2)]
        } else {
            &[r(4), r(2)]
        };
        let i = instruction(Opcode::MATCH, &modifiers, operands);
        for round in 0..60 {
            let mask = random.word() | 1 << (random.word() % 32);
            let few = 1 + round % 3;
            let mut w = warp();
            for row in [2, 3] {
                let values: Vec<u32> = (0..32)
                    .map(|_| (random.word() % few).wrapping_mul(0x8000_0001))
                    .collect();
                set(&mut w, row, |lane| values[lane]);
            }
            let value = |lane: usize| {
                let high = if wide { w.registers[3][lane] } else { 0 };
                (w.registers[2][lane], high)
            };
            let after = run_masked(&i, &w, mask);
            let active = || (0..32).filter(|lane| mask >> lane & 1 == 1);
            let same = |lane: usize| {
                let others = active().filter(|&other| value(other) == value(lane));
                others.fold(0u32, |same, other| same | 1 << other)
            };
            for lane in active() {
                let mut expected = same(lane);
                if all {
                    let equal = expected == mask;
                    assert_eq!(after.predicates[3] >> lane & 1 == 1, equal, "{mask:#x}");
                    expected = if equal { mask } else { 0 };
                }
                assert_eq!(
                    after.registers[4][lane],
                    expected,
                    "{} [{mask:#x}]",
                    i.display(0)
                );
            }
        }
    }
}
