//! Every base mnemonic, named once. Rows of the encoding table refer to these; so do execution and
//! the classes that time them.

macro_rules! opcodes {
    ($($name:ident)*) => {
        /// A base mnemonic: the text before the first dot.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[allow(missing_docs, clippy::upper_case_acronyms)]
        pub enum Opcode { $($name),* }

        impl Opcode {
            /// All mnemonics in alphabetical order.
            pub const ALL: &'static [Opcode] = &[$(Opcode::$name),*];

            /// The mnemonic as printed.
            pub const fn text(self) -> &'static str {
                match self { $(Opcode::$name => stringify!($name)),* }
            }
        }
    };
}

opcodes! {
    ARRIVES ATOM ATOMG ATOMS B2R BAR BMMA BMOV BMSK BPT
    BRA BREAK BREV BRX BRXU BSSY BSYNC CALL CCTL CCTLL
    CGAERRBAR CS2R DADD DEPBAR DFMA DMMA DMUL DSETP ENDCOLLECTIVE ERRBAR
    EXIT F2F F2FP F2I F2IP FADD FCHK FFMA FLO FMNMX
    FMUL FRND FSEL FSET FSETP HADD2 HFMA2 HMMA HMNMX2 HMUL2
    HSET2 HSETP2 I2F I2FP I2I I2IP IABS IADD3 IDP IMAD
    IMMA IMNMX ISETP JMP JMX KILL LD LDC LDG LDGDEPBAR
    LDGSTS LDL LDS LDSM LEA LEPC LOP3 MATCH MEMBAR MOV
    MOVM MUFU NANOSLEEP NOP P2R PLOP3 PMTRIG POPC PRMT QMMA
    QSPC R2P R2UR RED REDG REDUX RET S2R S2UR SEL
    SGXT SHF SHFL ST STG STL STS SUATOM SULD SURED
    SUST SYNCS TEX TLD TLD4 TMML TXD TXQ UBMSK UBREV
    UFLO UIADD3 UIMAD UISETP ULDC ULEA ULOP3 UMOV UP2UR UPLOP3
    UPOPC UPRMT USEL USGXT USHF VABSDIFF VABSDIFF4 VIADD VIADDMNMX VIMNMX
    VIMNMX3 VOTE VOTEU WARPSYNC YIELD
}
