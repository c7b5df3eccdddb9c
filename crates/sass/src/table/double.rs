//! Double-precision arithmetic. Literals hold the upper half of a double.

use super::float::ROUND;
use super::integer::COMBINE;
use super::*;
use crate::opcode::Opcode::*;
use Slot::{A, B, C, Last};

const COMPARE: Suffix = suffix(
    &[(76, 4)],
    "MIN LT EQ LE GT NE GE NUM NAN LTU EQU LEU GTU NEU GEU MAX",
);

pub(super) const ROWS: &[Row] = &[
    alu(
        DADD,
        0x029,
        RRR | ANY_C,
        &[],
        &[ROUND],
        &[D, double(A, SIGNS), double(C, SIGNS)],
    ),
    alu(
        DMUL,
        0x028,
        ANY_B,
        &[],
        &[ROUND],
        &[D, double(A, SIGNS), double(B, SIGNS)],
    ),
    alu(
        DFMA,
        0x02b,
        ANY,
        &[],
        &[ROUND],
        &[D, double(A, SIGNS), double(B, SIGNS), double(C, SIGNS)],
    ),
    alu(
        DSETP,
        0x02a,
        RRR | ANY_C,
        &[],
        &[COMPARE, COMBINE],
        &[
            pred(81),
            pred(84),
            double(A, SIGNS),
            double(Last, SIGNS),
            pred_source(87),
        ],
    ),
];
