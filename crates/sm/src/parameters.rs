//! All parameters of an SM, each declared in the file of its stage.

use std::sync::Arc;

use hardware::control::{ControlParameters, StallParameters};
use hardware::{Declaration, Gpu, HardwareError};

use crate::barrier::BarrierParameters;
use crate::constant_cache::{LoadConstantParameters, OperandConstantParameters};
use crate::dependence::DependenceParameters;
use crate::fence::FenceParameters;
use crate::front_end::fetch::FetchParameters;
use crate::front_end::level0::Level0Parameters;
use crate::front_end::level1::Level1Parameters;
use crate::front_end::stream_buffer::StreamBufferParameters;
use crate::issue::IssueParameters;
use crate::memory_unit::MemoryUnitParameters;
use crate::memory_unit::set_index::L1dSettings;
use crate::memory_unit::translation::TranslationParameters;
use crate::port::PortParameters;
use crate::register_file::RegisterFileParameters;
use crate::units::SharedFloat64Parameters;

macro_rules! sm_parameters {
    ($($(#[$doc:meta])* $name:ident: $type:ident,)*) => {
        /// Every parameter of an SM, loaded.
        #[derive(Clone, Debug)]
        pub struct SmParameters { $($(#[$doc])* pub $name: $type,)* }

        impl SmParameters {
            /// Loads all of them from a GPU.
            ///
            /// # Errors
            /// A parameter that is missing or out of its range, by name.
            pub fn load(gpu: &Gpu) -> Result<Arc<SmParameters>, HardwareError> {
                Ok(Arc::new(SmParameters { $($name: $type::load(gpu)?,)* }))
            }
        }

        /// The declarations of all parameters of this crate.
        pub fn declarations() -> Vec<&'static [Declaration]> {
            vec![$($type::DECLARED,)*]
        }
    };
}

sm_parameters! {
    /// Fetch and decode.
    fetch: FetchParameters,
    /// L0 instruction cache.
    l0_instruction_cache: Level0Parameters,
    /// Stream buffer.
    stream_buffer: StreamBufferParameters,
    /// L1 instruction and L1.5 constant cache.
    l1_instruction_cache: Level1Parameters,
    /// Issue.
    issue: IssueParameters,
    /// What stall counts mean.
    stalls: StallParameters,
    /// When what control fields name takes effect.
    control: ControlParameters,
    /// Dependences between instructions of a warp.
    dependence: DependenceParameters,
    /// Constant cache for operands.
    constant_operand_cache: OperandConstantParameters,
    /// Register file.
    register_file: RegisterFileParameters,
    /// FP64 unit shared by the SM.
    shared_float64: SharedFloat64Parameters,
    /// Memory unit.
    memory_unit: MemoryUnitParameters,
    /// L1 data cache.
    l1_data_cache: L1dSettings,
    /// Translation of addresses that leave the SM.
    translation: TranslationParameters,
    /// Constant cache for LDC.
    constant_load_cache: LoadConstantParameters,
    /// Port to the memory side.
    sm_port: PortParameters,
    /// CTA barriers.
    barrier: BarrierParameters,
    /// Fences.
    fence: FenceParameters,
}
