//! Every base mnemonic, named once. Rows of the encoding table refer to these; so do execution and
//! the classes that time them.

macro_rules! opcodes {
    ($($name:ident)*) => {
        /// A base mnemonic: the text before the first dot.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[allow(missing_docs, non_camel_case_types, clippy::upper_case_acronyms)]
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
    ACQBULK ARRIVES ATOM ATOMG ATOMS B2R BAR BGMMA BMMA BMOV BMSK BPT BRA BREAK BREV BRX BRXU BSSY
    BSYNC CALL CCTL CCTLL CGAERRBAR CLMAD CS2R DADD DEPBAR DFMA DMMA DMUL DSETP ELECT ENDCOLLECTIVE
    ERRBAR EXIT F2F F2FP F2I F2IP FADD FCHK FENCE FFMA FLO FMNMX FMUL FRND FSEL FSET FSETP FSWZADD
    GETLMEMBASE HADD2 HFMA2 HGMMA HMMA HMNMX2 HMUL2 HSET2 HSETP2 I2F I2FP I2I I2IP IABS IADD3 IDP
    IGMMA IMAD IMMA IMNMX ISETP JMP JMX KILL LD LDC LDG LDGDEPBAR LDGMC LDGSTS LDL LDS LDSM LEA LEPC
    LOP3 MATCH MEMBAR MOV MOVM MUFU NANOSLEEP NOP OUT P2R PIXLD PLOP3 PMTRIG POPC PREEXIT PRMT QGMMA
    QMMA QSPC R2P R2UR RED REDAS REDG REDUX RET RPCMOV S2R S2UR SEL SETCTAID SGXT SHF SHFL ST STAS
    STG STL STS STSM SUATOM SULD SURED SUST SYNCS TEX TLD TLD4 TMML TXD TXQ UBLKCP UBLKPF UBLKRED
    UBMSK UBREV UCGABAR_ARV UCGABAR_WAIT UFLO UIADD3 UIMAD UISETP ULDC ULEA ULEPC ULOP3 UMOV UP2UR
    UPLOP3 UPOPC UPRMT UR2UP USEL USETMAXREG USETSHMSZ USGXT USHF UTMACCTL UTMACMDFLUSH UTMALDG
    UTMAPF UTMAREDG UTMASTG VABSDIFF VABSDIFF4 VHMNMX VIADD VIADDMNMX VIMNMX VIMNMX3 VOTE VOTEU
    WARPGROUP WARPGROUPSET WARPSYNC YIELD
}

impl Opcode {
    /// Whether the instruction drives one of the units that Hopper alone has: the tensor memory access
    /// unit, matrices of a warp group, clusters and dependent grids, multicast memory.
    pub const fn drives_hopper_unit(self) -> bool {
        use Opcode::*;
        matches!(
            self,
            ACQBULK
                | BGMMA
                | ELECT
                | FENCE
                | HGMMA
                | IGMMA
                | LDGMC
                | PREEXIT
                | QGMMA
                | REDAS
                | STAS
                | UBLKCP
                | UBLKPF
                | UBLKRED
                | UCGABAR_ARV
                | UCGABAR_WAIT
                | USETMAXREG
                | USETSHMSZ
                | UTMACCTL
                | UTMACMDFLUSH
                | UTMALDG
                | UTMAPF
                | UTMAREDG
                | UTMASTG
                | WARPGROUP
                | WARPGROUPSET
        )
    }
}
