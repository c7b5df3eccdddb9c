//! Constant banks of a launch: bank 0 as the driver fills it (launch shape, windows, stack pointer,
//! parameters), the others as the module has them.

/// Constant banks an instruction can name.
const BANKS: usize = 32;

/// Offsets in bank 0 that the driver fills, sm_75 to sm_90, as the compiler reads them for each PTX
/// special register.
pub(crate) mod driver {
    /// Block size x, y, z.
    pub(crate) const BLOCK: u32 = 0x0;
    /// Grid size x, y, z.
    pub(crate) const GRID: u32 = 0xc;
    /// Generic address of the shared window, 64 bits.
    pub(crate) const SHARED_WINDOW: u32 = 0x18;
    /// Generic address of the local window, 64 bits.
    pub(crate) const LOCAL_WINDOW: u32 = 0x20;
    /// Initial stack pointer.
    pub(crate) const STACK_POINTER: u32 = 0x28;
    /// Dynamic shared memory in bytes.
    pub(crate) const DYNAMIC_SHARED: u32 = 0x2c;
    /// Number of the grid, 64 bits.
    pub(crate) const GRID_ID: u32 = 0x30;
    /// Address of the workspace for grid barriers: its upper word (PTX %envreg1), then its lower
    /// one (%envreg2). From sm_90 on at [`GRID_WORKSPACE_90`].
    pub(crate) const GRID_WORKSPACE: u32 = 0x8c;
    /// The same on sm_90.
    pub(crate) const GRID_WORKSPACE_90: u32 = 0x44;
    /// Number of SMs.
    pub(crate) const SM_COUNT: u32 = 0x10c;
    /// Reserved bytes of shared memory.
    pub(crate) const RESERVED_SHARED: u32 = 0x114;
    /// Descriptor of global memory, 64 bits; no value depends on it.
    pub(crate) const GLOBAL_DESCRIPTOR: u32 = 0x118;
    /// The same on sm_90.
    pub(crate) const GLOBAL_DESCRIPTOR_90: u32 = 0x208;
    /// CTAs of a cluster in x, y and z, and in all, on sm_90: one where there are no clusters.
    pub(crate) const CLUSTER_90: [u32; 4] = [0x144, 0x148, 0x14c, 0x188];
    /// Clusters of the grid in x, y and z, on sm_90.
    pub(crate) const CLUSTERS_90: u32 = 0x15c;
    /// Bytes before the parameters where a kernel does not say (on sm_90 they begin at 0x210).
    pub(crate) const AREA: usize = 0x160;
}

/// The banks, bank number by position; empty where there is none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Banks {
    banks: Vec<Vec<u8>>,
}

impl Banks {
    /// Thirty-two empty banks.
    pub(crate) fn new() -> Banks {
        Banks {
            banks: vec![Vec::new(); BANKS],
        }
    }

    /// Sets the bytes of bank `number`.
    pub(crate) fn set(&mut self, number: u32, bytes: Vec<u8>) {
        if let Some(bank) = self.banks.get_mut(number as usize) {
            *bank = bytes;
        }
    }

    /// Writes a word of bank 0, which must reach that far.
    pub(crate) fn write_driver_word(&mut self, offset: u32, value: u32) {
        self.write_word(0, offset, value);
    }

    /// Writes a word of a bank, which must reach that far.
    pub(crate) fn write_word(&mut self, bank: u32, offset: u32, value: u32) {
        let at = offset as usize;
        if let Some(place) = self
            .banks
            .get_mut(bank as usize)
            .and_then(|bank| bank.get_mut(at..at + 4))
        {
            place.copy_from_slice(&value.to_le_bytes());
        }
    }

    /// Writes two words of bank 0.
    pub(crate) fn write_driver_wide(&mut self, offset: u32, value: u64) {
        self.write_driver_word(offset, value as u32);
        self.write_driver_word(offset + 4, (value >> 32) as u32);
    }

    /// `bytes` (1 to 8) little-endian bytes at `offset`, if they lie inside the bank.
    #[inline]
    pub(crate) fn read(&self, bank: u8, offset: u32, bytes: u32) -> Option<u64> {
        let at = offset as usize;
        let field = self
            .banks
            .get(bank as usize)?
            .get(at..at.checked_add(bytes as usize)?)?;
        let mut value = [0; 8];
        value.get_mut(..field.len())?.copy_from_slice(field);
        Some(u64::from_le_bytes(value))
    }

    /// Bytes of a bank.
    pub(crate) fn size(&self, bank: u8) -> u32 {
        self.banks
            .get(bank as usize)
            .map_or(0, |bank| bank.len() as u32)
    }
}
