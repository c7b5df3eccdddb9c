//! Divergence, barriers and calls in small programs.

use sass::{Instruction, Modifier as M, Opcode, Operand};
use source::FaultKind;

use super::machine::*;
use super::*;
use crate::functional::{self, RunFault};
use crate::launch::{LaunchOptions, UnknownOp};

/// `P{p} = R{a} compare literal`, unsigned.
fn compare(predicate: u8, how: M, a: u8, literal: u32) -> Instruction {
    instruction(
        Opcode::ISETP,
        &[how, M::U32, M::AND],
        &[p(predicate, false), pt(), r(a), imm(literal), pt()],
    )
}

fn add(row: u8, a: u8, literal: u32) -> Instruction {
    op(Opcode::IADD3, &[r(row), r(a), imm(literal), r(255)])
}

/// REGRESSIONS F1: threadIdx.y and .z.
#[test]
fn thread_indices_of_a_three_dimensional_block() {
    let mut parts = vec![vec![
        op(Opcode::S2R, &[r(1), Operand::SpecialRegister(33)]),
        op(Opcode::S2R, &[r(2), Operand::SpecialRegister(34)]),
        op(Opcode::S2R, &[r(3), Operand::SpecialRegister(35)]),
        // Linear index 8 · (4z + y) + x, value x + 100 y + 10000 z.
        op(Opcode::IMAD, &[r(4), r(3), imm(4), r(2)]),
        op(Opcode::IMAD, &[r(4), r(4), imm(8), r(1)]),
        op(Opcode::IMAD, &[r(5), r(2), imm(100), r(1)]),
        op(Opcode::IMAD, &[r(5), r(3), imm(10_000), r(5)]),
    ]];
    parts.push(store(4, 5));
    parts.push(vec![exit()]);
    let mut m = memory(64);
    run_code(&code(parts), [8, 4, 2], &mut m).unwrap();
    for (i, &word) in words(&m, 64).iter().enumerate() {
        let (x, y, z) = (i % 8, i / 8 % 4, i / 32);
        assert_eq!(word as usize, x + 100 * y + 10_000 * z);
    }
}

#[test]
fn nested_branches_converge() {
    // Lanes below 16 take one side, of which those below 8 another; all count their path and meet.
    let mut program = vec![
        tid(1),                                                    // 0
        op(Opcode::BSSY, &[barrier(0), target(1, 12)]),            // 1
        compare(0, M::GE, 1, 16),                                  // 2
        when(0, false, op(Opcode::BRA, &[target(3, 11)])),         // 3
        op(Opcode::BSSY, &[barrier(1), target(4, 9)]),             // 4
        compare(1, M::GE, 1, 8),                                   // 5
        when(1, false, op(Opcode::BRA, &[target(6, 8)])),          // 6
        add(2, 2, 1),                                              // 7
        op(Opcode::BSYNC, &[barrier(1)]),                          // 8
        add(2, 2, 10),                                             // 9
        op(Opcode::BRA, &[target(10, 12)]),                        // 10
        add(2, 2, 100),                                            // 11
        op(Opcode::BSYNC, &[barrier(0)]),                          // 12
        instruction(Opcode::VOTE, &[M::ANY], &[r(3), pt(), pt()]), // 13
        op(Opcode::IMAD, &[r(2), r(3), imm(1000), r(2)]),
    ];
    program.extend(store(1, 2));
    program.push(exit());
    let mut m = memory(32);
    run_code(&program, [32, 1, 1], &mut m).unwrap();
    for (lane, &word) in words(&m, 32).iter().enumerate() {
        let path = if lane < 8 {
            11
        } else if lane < 16 {
            10
        } else {
            100
        };
        // All lanes take part in the vote: they have met.
        assert_eq!(
            word,
            u32::MAX.wrapping_mul(1000).wrapping_add(path),
            "lane {lane}"
        );
    }
}

#[test]
fn a_loop_with_break_converges_behind_it() {
    // Each lane leaves in round tid % 5, odd lanes through BREAK to a block of their own.
    let mut program = vec![
        tid(1), // 0
        op(
            Opcode::LOP3,
            &[r(4), r(1), imm(1), r(255), imm(0xc0), p(7, true)],
        ), // 1: tid & 1
        op(Opcode::IMAD, &[r(3), r(1), imm(0x3334), r(255)]), // 2
        instruction(
            Opcode::SHF,
            &[M::R, M::U32, M::HI],
            &[r(3), r(255), imm(16), r(3)],
        ), // 3
        op(Opcode::IMAD, &[r(3), r(3), imm(-5i32 as u32), r(1)]), // 4: tid % 5
        op(Opcode::BSSY, &[barrier(0), target(5, 14)]), // 5
        // loop:
        instruction(
            Opcode::ISETP,
            &[M::LT, M::U32, M::AND],
            &[p(0, false), pt(), r(2), r(3), pt()],
        ), // 6: goes on
        when(0, false, op(Opcode::BRA, &[target(7, 12)])), // 7
        compare(1, M::EQ, 4, 1),                           // 8
        when(1, false, op(Opcode::BREAK, &[barrier(0)])),  // 9
        when(1, false, op(Opcode::BRA, &[target(10, 16)])), // 10
        op(Opcode::BRA, &[target(11, 14)]),                // 11
        add(2, 2, 1),                                      // 12
        op(Opcode::BRA, &[target(13, 6)]),                 // 13
        op(Opcode::BSYNC, &[barrier(0)]),                  // 14
        op(Opcode::BRA, &[target(15, 17)]),                // 15
        add(2, 2, 50),                                     // 16: after BREAK
        instruction(Opcode::VOTE, &[M::ANY], &[r(5), pt(), pt()]), // 17
    ];
    program[1].modifiers = [M::LUT].into_iter().collect();
    program.extend(store(1, 2));
    program.push(exit());
    let mut m = memory(32);
    run_code(&program, [32, 1, 1], &mut m).unwrap();
    for (lane, &word) in words(&m, 32).iter().enumerate() {
        let rounds = lane as u32 % 5;
        assert_eq!(word, if lane % 2 == 1 { rounds + 50 } else { rounds });
    }
}

/// Some lanes leave early while others loop and meet.
///
/// REGRESSIONS C17: a warp of which some lanes are gone while others loop.
#[test]
fn early_exits_do_not_hold_up_the_others() {
    let mut program = vec![
        tid(1),                                        // 0
        op(Opcode::BSSY, &[barrier(0), target(1, 9)]), // 1
        compare(0, M::GE, 1, 20),                      // 2
        when(0, false, exit()),                        // 3
        // loop: lane l makes l rounds.
        instruction(
            Opcode::ISETP,
            &[M::GE, M::U32, M::AND],
            &[p(1, false), pt(), r(2), r(1), pt()],
        ), // 4
        when(1, false, op(Opcode::BRA, &[target(5, 9)])), // 5
        add(2, 2, 1),                                     // 6
        op(Opcode::BRA, &[target(7, 4)]),                 // 7
        exit(),                                           // 8
        op(Opcode::BSYNC, &[barrier(0)]),                 // 9
        instruction(Opcode::VOTE, &[M::ALL], &[r(3), pt(), pt()]), // 10
    ];
    program.extend(store(1, 3));
    program.push(exit());
    let mut m = memory(32);
    let statistics = run_code(&program, [32, 1, 1], &mut m).unwrap();
    let found = words(&m, 32);
    assert!(found[..20].iter().all(|&w| w == (1 << 20) - 1));
    assert!(found[20..].iter().all(|&w| w == 0));
    assert!(statistics.thread_instructions > 500);
}

#[test]
fn calls_by_register_return_to_each_lane() {
    // Even lanes call 10, odd lanes 12; both return through R20.
    let mut program = vec![
        tid(1), // 0
        instruction(
            Opcode::LOP3,
            &[M::LUT],
            &[r(4), r(1), imm(1), r(255), imm(0xc0), p(7, true)],
        ), // 1
        op(Opcode::IMAD, &[r(6), r(4), imm(32), imm(160)]), // 2: address in the function
        mov(7, 0), // 3
        mov(20, 6 * 16), // 4
        mov(21, 0), // 5 (overwritten below)
        mov(22, 0), // 6
    ];
    program[5] = instruction(Opcode::CALL, &[M::REL, M::NOINC], &[r(6), target(5, 0)]);
    program.push(op(Opcode::BRA, &[target(7, 14)])); // 7
    program.push(exit()); // 8
    program.push(exit()); // 9
    program.push(add(2, 1, 1000)); // 10
    program.push(instruction(
        Opcode::RET,
        &[M::REL, M::NODEC],
        &[r(20), target(11, 0)],
    )); // 11
    program.push(add(2, 1, 2000)); // 12
    program.push(instruction(
        Opcode::RET,
        &[M::REL, M::NODEC],
        &[r(20), target(13, 0)],
    )); // 13
    program.extend(store(1, 2)); // 14
    program.push(exit());
    let mut m = memory(32);
    run_code(&program, [32, 1, 1], &mut m).unwrap();
    for (lane, &word) in words(&m, 32).iter().enumerate() {
        assert_eq!(
            word as usize,
            lane + if lane % 2 == 1 { 2000 } else { 1000 }
        );
    }
}

#[test]
fn lepc_and_absolute_calls() {
    // LEPC gives the instruction's own address; a jump to it + 4 instructions skips two.
    let mut program = vec![
        tid(1),                     // 0
        op(Opcode::LEPC, &[r(10)]), // 1
        op(
            Opcode::IADD3,
            &[r(12), p(0, false), r(10), imm(4 * 16), r(255)],
        ), // 2
        instruction(
            Opcode::IADD3,
            &[M::X],
            &[r(13), r(255), r(11), r(255), p(0, false), p(7, true)],
        ), // 3
        instruction(Opcode::CALL, &[M::ABS, M::NOINC], &[r(12)]), // 4
        mov(2, 7),                  // 5 = 1 + 4
    ];
    program.extend(store(1, 2));
    program.push(exit());
    let mut m = memory(32);
    run_code(&program, [32, 1, 1], &mut m).unwrap();
    assert!(words(&m, 32).iter().all(|&w| w == 7));
}

/// RPCMOV keeps two words for each lane; lanes that do not write keep theirs.
#[test]
fn halves_of_the_return_address() {
    let half = Operand::Keyword;
    let mut program = vec![
        tid(1),
        compare(0, M::GE, 1, 8),
        add(2, 1, 100),
        instruction(Opcode::RPCMOV, &[M::N32], &[half("Rpc.LO"), r(1)]),
        when(
            0,
            false,
            instruction(Opcode::RPCMOV, &[M::N32], &[half("Rpc.HI"), r(2)]),
        ),
        instruction(Opcode::RPCMOV, &[M::N32], &[r(3), half("Rpc.HI")]),
        instruction(Opcode::RPCMOV, &[M::N32], &[r(4), half("Rpc.LO")]),
        op(Opcode::IADD3, &[r(2), r(3), r(4), r(255)]),
    ];
    program.extend(store(1, 2));
    program.push(exit());
    let mut m = memory(32);
    run_code(&program, [32, 1, 1], &mut m).unwrap();
    for (lane, found) in words(&m, 32).into_iter().enumerate() {
        let lane = lane as u32;
        assert_eq!(found, if lane < 8 { lane } else { 2 * lane + 100 });
    }
}

/// LEPC with a target (sm_90) gives the target's address.
#[test]
fn lepc_of_a_target() {
    let mut program = vec![
        tid(1),                                               // 0
        op(Opcode::LEPC, &[r(10)]),                           // 1
        op(Opcode::LEPC, &[r(12), target(2, 9)]),             // 2
        op(Opcode::IADD3, &[r(2), r(12), minus(10), r(255)]), // 3
    ];
    program.extend(store(1, 2));
    program.push(exit());
    let mut m = memory(32);
    run_code(&program, [32, 1, 1], &mut m).unwrap();
    assert!(
        words(&m, 32).iter().all(|&w| w == 8 * 16),
        "9 lies 8 behind 1"
    );
}

/// WARPSYNC.COLLECTIVE waits for the lanes of its mask, which then run together up to ENDCOLLECTIVE.
#[test]
fn lanes_of_a_collective_run_together() {
    let mask = 0xffff_0000u32;
    let mut program = vec![
        tid(1),                                                                  // 0
        mov(2, 0),                                                               // 1
        compare(0, M::GE, 1, 16),                                                // 2
        compare(1, M::GE, 1, 24),                                                // 3
        when(0, true, op(Opcode::BRA, &[target(4, 12)])),                        // 4
        when(1, false, op(Opcode::BRA, &[target(5, 8)])),                        // 5
        add(3, 1, 1),                                                            // 6
        add(3, 3, 1),                                                            // 7
        mov(6, mask),                                                            // 8
        instruction(Opcode::WARPSYNC, &[M::COLLECTIVE], &[r(6), target(9, 12)]), // 9
        instruction(Opcode::VOTE, &[M::ANY], &[r(2), pt(), pt()]),               // 10
        op(Opcode::ENDCOLLECTIVE, &[]),                                          // 11
    ];
    program.extend(store(1, 2)); // 12
    program.push(exit());
    let mut m = memory(32);
    run_code(&program, [32, 1, 1], &mut m).unwrap();
    for (lane, &found) in words(&m, 32).iter().enumerate() {
        assert_eq!(found, if lane < 16 { 0 } else { mask }, "lane {lane}");
    }
}

#[test]
fn a_jump_out_of_the_code_is_a_fault() {
    let program = vec![op(Opcode::BRA, &[Operand::Target(1 << 20)])];
    match run_code(&program, [32, 1, 1], &mut memory(1)).unwrap_err() {
        RunFault::Fault(fault) => assert_eq!(fault.kind, FaultKind::IllegalPc),
        other => panic!("{other}"),
    }
    // And so is running over its end.
    match run_code(&[mov(1, 1)], [32, 1, 1], &mut memory(1)).unwrap_err() {
        RunFault::Fault(fault) => {
            assert_eq!((fault.kind, fault.pc.0), (FaultKind::IllegalPc, 1));
        }
        other => panic!("{other}"),
    }
}

/// A lock between lanes of one warp, taken by compare-and-swap, in the form that waits at BSYNC.
#[test]
fn a_spin_lock_between_lanes_makes_progress() {
    let mut program = vec![tid(1), mov(9, 0)];
    program.extend(pointer(10, 9)); // 2, 3, 4
    program.extend([
        mov(5, 1),                                      // 5
        op(Opcode::BSSY, &[barrier(0), target(6, 11)]), // 6
        op(Opcode::YIELD, &[]),                         // 7
        instruction(
            Opcode::ATOMG,
            &[M::E, M::CAS, M::STRONG, M::GPU],
            &[pt(), r(2), at(10, 0), r(255), r(5)],
        ), // 8
        compare(0, M::NE, 2, 0),                        // 9
        when(0, false, op(Opcode::BRA, &[target(10, 7)])), // 10
        op(Opcode::BSYNC, &[barrier(0)]),               // 11
        // Guarded: word 1 += 1, with plain accesses.
        instruction(Opcode::LDG, &[M::E], &[r(6), at(10, 4)]),
        add(6, 6, 1),
        instruction(Opcode::STG, &[M::E], &[at(10, 4), r(6)]),
        instruction(
            Opcode::ATOMG,
            &[M::E, M::EXCH, M::STRONG, M::GPU],
            &[pt(), r(255), at(10, 0), r(255)],
        ),
        exit(),
    ]);
    let mut m = memory(2);
    run_code(&program, [32, 1, 1], &mut m).unwrap();
    assert_eq!(words(&m, 2), [0, 32]);
}

#[test]
fn bra_div_and_bra_conv_see_the_active_lanes() {
    for (modifier, diverged_jumps) in [(M::DIV, true), (M::CONV, false)] {
        for diverged in [false, true] {
            let mut program = vec![
                tid(1),                                                        // 0
                op(Opcode::UMOV, &[ur(4), imm(u32::MAX)]),                     // 1
                compare(0, M::GE, 1, if diverged { 16 } else { 32 }),          // 2
                when(0, false, op(Opcode::BRA, &[target(3, 7)])),              // 3
                instruction(Opcode::BRA, &[modifier], &[ur(4), target(4, 6)]), // 4
                mov(2, 5),                                                     // 5
                add(2, 2, 1),                                                  // 6
            ];
            program.extend(store(1, 2)); // 7
            program.push(exit());
            let mut m = memory(32);
            run_code(&program, [32, 1, 1], &mut m).unwrap();
            let expected = if diverged == diverged_jumps { 1 } else { 6 };
            assert_eq!(words(&m, 1)[0], expected);
        }
    }
}

#[test]
fn barriers_order_shared_memory_between_warps() {
    // Each thread leaves its number, all meet, each reads its mirror image.
    let threads = 256u32;
    let mut program = vec![
        tid(1),
        instruction(Opcode::SHF, &[M::L, M::U32], &[r(3), r(1), imm(2), r(255)]),
        op(Opcode::STS, &[at(3, 0), r(1)]),
        instruction(Opcode::BAR, &[M::SYNC, M::DEFER_BLOCKING], &[imm(0)]),
        op(
            Opcode::IADD3,
            &[r(4), imm(4 * (threads - 1)), minus(3), r(255)],
        ),
        op(Opcode::LDS, &[r(5), at(4, 0)]),
    ];
    program.extend(store(1, 5));
    program.push(exit());
    let mut m = memory(u64::from(threads));
    run_code(&program, [threads, 1, 1], &mut m).unwrap();
    for (i, &word) in words(&m, threads as usize).iter().enumerate() {
        assert_eq!(word, threads - 1 - i as u32);
    }
}

#[test]
fn reducing_barriers() {
    for (reduction, expected) in [(M::POPC, 12), (M::AND, 0), (M::OR, 1)] {
        let mut program = vec![
            tid(1),
            compare(1, M::LT, 1, 12),
            instruction(
                Opcode::BAR,
                &[M::RED, reduction, M::DEFER_BLOCKING],
                &[imm(0), p(1, false)],
            ),
            instruction(Opcode::B2R, &[M::RESULT], &[r(2), p(2, false)]),
            when(2, false, add(2, 2, 100)),
        ];
        program.extend(store(1, 2));
        program.push(exit());
        let mut m = memory(96);
        run_code(&program, [96, 1, 1], &mut m).unwrap();
        let expected = if expected == 0 { 0 } else { expected + 100 };
        assert!(
            words(&m, 96).iter().all(|&w| w == expected),
            "{reduction:?}"
        );
    }
}

/// Warps that have ended do not hold up a barrier of the whole CTA; nor do lanes that have exited.
#[test]
fn exits_count_as_arrivals() {
    let mut program = vec![
        tid(1),
        compare(0, M::GE, 1, 40), // warp 1 keeps 8 lanes, warps 2 and 3 none
        when(0, false, exit()),
        instruction(Opcode::BAR, &[M::SYNC], &[imm(0)]),
        mov(2, 9),
    ];
    program.extend(store(1, 2));
    program.push(exit());
    let mut m = memory(128);
    run_code(&program, [128, 1, 1], &mut m).unwrap();
    let found = words(&m, 128);
    assert!(found[..40].iter().all(|&w| w == 9) && found[40..].iter().all(|&w| w == 0));
}

/// Producers arrive without waiting, one consumer warp waits for both.
#[test]
fn counted_barriers_with_arrivals() {
    let mut program = vec![
        tid(1),                                                                   // 0
        compare(0, M::LT, 1, 64),                                                 // 1
        instruction(Opcode::SHF, &[M::L, M::U32], &[r(3), r(1), imm(2), r(255)]), // 2
        when(0, true, op(Opcode::BRA, &[target(3, 7)])),                          // 3
        op(Opcode::STS, &[at(3, 0), r(1)]),                                       // 4
        instruction(Opcode::BAR, &[M::ARV], &[imm(5), imm(96)]),                  // 5
        exit(),                                                                   // 6
        instruction(Opcode::BAR, &[M::SYNC], &[imm(5), imm(96)]),                 // 7
        op(Opcode::LDS, &[r(4), at(3, -4 * 64)]),                                 // 8
        add(1, 1, -64i32 as u32),                                                 // 9
    ];
    program.extend(store(1, 4));
    program.push(exit());
    let mut m = memory(32);
    run_code(&program, [96, 1, 1], &mut m).unwrap();
    for (lane, &word) in words(&m, 32).iter().enumerate() {
        assert_eq!(word, lane as u32);
    }
}

#[test]
fn misused_barriers_are_faults() {
    for (operands, text) in [
        (vec![imm(16)], "there are 0 to 15"),
        (vec![imm(1), imm(33)], "not a multiple of 32"),
        (vec![imm(1), imm(128)], "the block has 2 warps"),
    ] {
        let program = vec![instruction(Opcode::BAR, &[M::SYNC], &operands), exit()];
        match run_code(&program, [64, 1, 1], &mut memory(1)).unwrap_err() {
            RunFault::Fault(fault) => match &fault.kind {
                FaultKind::Barrier(found) => assert!(found.contains(text), "{found}"),
                other => panic!("{other:?}"),
            },
            other => panic!("{other}"),
        }
    }
}

#[test]
fn a_deadlock_is_told_with_who_waits_for_what() {
    // Warp 1 waits at barrier 1, the others at barrier 0.
    let program = vec![
        tid(1),
        compare(0, M::GE, 1, 32),
        compare(1, M::LT, 1, 64),
        op(Opcode::BRA, &[p(0, true), target(3, 6)]),
        op(Opcode::BRA, &[p(1, true), target(4, 6)]),
        instruction(Opcode::BAR, &[M::SYNC], &[imm(1)]),
        instruction(Opcode::BAR, &[M::SYNC], &[imm(0)]),
        exit(),
    ];
    match run_code(&program, [96, 1, 1], &mut memory(1)).unwrap_err() {
        RunFault::Deadlock { waiting } => {
            assert_eq!(waiting.len(), 3);
            assert!(waiting[1].contains("CTA barrier 1"), "{waiting:?}");
            assert!(
                waiting[0].contains("barrier 0 has 2 of 3 warps"),
                "{waiting:?}"
            );
            assert!(
                waiting[0].contains("missing warps of the block: 1"),
                "{waiting:?}"
            );
        }
        other => panic!("{other}"),
    }
}

#[test]
fn an_endless_loop_ends_at_the_limit() {
    let program = vec![op(Opcode::BRA, &[target(0, 0)])];
    match run_code(&program, [32, 1, 1], &mut memory(1)).unwrap_err() {
        RunFault::TooLong { limit, .. } => assert_eq!(limit, 100_000),
        other => panic!("{other}"),
    }
}

#[test]
fn what_is_not_executed_is_named_or_skipped_and_counted() {
    let unit = instruction(Opcode::UTMALDG, &[], &[]);
    let options = LaunchOptions {
        unknown_op: UnknownOp::Nop,
        ..Default::default()
    };
    let program = vec![unit.clone(), exit()];
    let launch = launch_with(&program, [1, 1, 1], [64, 1, 1], options);
    let statistics = functional::run(&launch, &mut memory(1), 1000).unwrap();
    assert_eq!(statistics.skipped[0], 2);
    assert_eq!(
        crate::refusal(&unit).unwrap(),
        "copies of tensors and blocks (a unit of Hopper)"
    );
    assert!(crate::executes(&exit()));
    assert!(!crate::executes(&instruction(
        Opcode::IADD3,
        &[M::SAT],
        &[r(0), r(1), r(2), r(3)]
    )));
}

#[test]
fn guards_and_predicated_off_instructions() {
    let mut program = vec![
        tid(1),
        compare(0, M::LT, 1, 10),
        when(0, false, mov(2, 1)),
        when(0, true, mov(2, 2)),
        // False in all lanes: no access, no fault.
        when(
            7,
            true,
            instruction(Opcode::LDG, &[M::E], &[r(2), at(30, 0)]),
        ),
    ];
    program.extend(store(1, 2));
    program.push(exit());
    let mut m = memory(32);
    let statistics = run_code(&program, [32, 1, 1], &mut m).unwrap();
    for (lane, &word) in words(&m, 32).iter().enumerate() {
        assert_eq!(word, if lane < 10 { 1 } else { 2 });
    }
    assert_eq!(statistics.by_pc[4], 1);
}

#[test]
fn special_registers() {
    let mut program = vec![tid(1)];
    let reads = [0u8, 37, 38, 39, 50, 56, 57, 58, 59, 60];
    for (k, &number) in reads.iter().enumerate() {
        program.push(op(
            Opcode::S2R,
            &[r(10 + k as u8), Operand::SpecialRegister(number)],
        ));
        program.push(op(Opcode::IMAD, &[r(30), r(1), imm(10), imm(k as u32)]));
        program.extend(store(30, 10 + k as u8));
    }
    program.push(exit());
    let mut m = memory(320);
    run_code(&program, [32, 1, 1], &mut m).unwrap();
    let found = words(&m, 320);
    for lane in 0..32usize {
        let own = 1u32 << lane;
        let expected = [
            lane as u32,
            0,
            0,
            0,
            2048, // 1024 dynamic, 1024 reserved
            own,
            own - 1,
            own | (own - 1),
            !(own | (own - 1)),
            !(own - 1),
        ];
        assert_eq!(found[10 * lane..10 * lane + 10], expected, "lane {lane}");
    }
}

/// Only lane 5 runs, then all lanes of its quad, then lane 5 alone.
fn in_a_quad(inside: Instruction) -> Vec<Instruction> {
    let active = || Operand::Keyword("MACTIVE");
    let mut program = vec![
        tid(1),                                                                   // 0
        op(Opcode::BSSY, &[barrier(0), target(1, 9)]),                            // 1
        compare(0, M::NE, 1, 5),                                                  // 2
        when(0, false, op(Opcode::BRA, &[target(3, 9)])),                         // 3
        instruction(Opcode::BMOV, &[M::N32], &[barrier(15), active()]),           // 4
        instruction(Opcode::BMOV, &[M::N32, M::PQUAD], &[active(), barrier(15)]), // 5
        inside,                                                                   // 6
        instruction(Opcode::BMOV, &[M::N32], &[active(), barrier(15)]),           // 7
        add(4, 1, 1000),                                                          // 8
        op(Opcode::BSYNC, &[barrier(0)]),                                         // 9
    ];
    program.extend(store(1, 3));
    program.push(add(1, 1, 32));
    program.extend(store(1, 4));
    program.push(exit());
    program
}

#[test]
fn lanes_of_other_places_complete_a_quad_and_go_back() {
    let mut m = memory(64);
    run_code(&code(vec![in_a_quad(add(3, 1, 100))]), [32, 1, 1], &mut m).unwrap();
    for (i, &word) in words(&m, 64).iter().enumerate() {
        let expected = match i {
            4..8 => i as u32 + 100,
            37 => 1005,
            _ => 0,
        };
        assert_eq!(word, expected, "word {i}");
    }
}

#[test]
fn control_flow_in_a_completed_quad_is_refused() {
    let jump = op(Opcode::BRA, &[target(6, 7)]);
    let fault = run_code(&code(vec![in_a_quad(jump)]), [32, 1, 1], &mut memory(64)).unwrap_err();
    assert!(fault.to_string().contains("complete quads"), "{fault}");
}

#[test]
fn fswzadd_adds_subtracts_and_moves_by_place_in_the_quad() {
    let number = |lane: u32, of: u32| (lane * 3 + of * 7) as f32 * 0.375;
    for (letters, expected) in [
        ("ZPPPZPPP", [3, 0, 3, 0]),
        ("ZPZPPPPP", [3, 3, 0, 0]),
        ("PNNPPPZP", [1, 2, 0, 3]),
    ] {
        let mut program = vec![
            tid(1),
            op(Opcode::IMAD, &[r(2), r(1), imm(3), r(255)]),
            add(3, 2, 7),
            instruction(Opcode::I2F, &[M::U32], &[r(2), r(2)]),
            instruction(Opcode::I2F, &[M::U32], &[r(3), r(3)]),
            op(Opcode::FMUL, &[r(2), r(2), imm(0.375f32.to_bits())]),
            op(Opcode::FMUL, &[r(3), r(3), imm(0.375f32.to_bits())]),
            op(
                Opcode::FSWZADD,
                &[r(4), r(2), r(3), Operand::Keyword(letters)],
            ),
        ];
        program.extend(store(1, 4));
        program.push(exit());
        let mut m = memory(32);
        run_code(&code(vec![program]), [32, 1, 1], &mut m).unwrap();
        for (lane, &word) in words(&m, 32).iter().enumerate() {
            let (a, b) = (number(lane as u32, 0), number(lane as u32, 1));
            let choices = [a + b, a - b, b - a, b];
            let right = choices[expected[lane % 4]];
            assert_eq!(f32::from_bits(word), right, "{letters}, lane {lane}");
        }
    }
}
