//! Documents that describe no memory are refused, each by key and reason.

mod driver;

use driver::gpu;
use memory::MemorySystem;

/// What a GPU with overrides is refused for.
fn refused(name: &str, overrides: &[&str]) -> String {
    let mut gpu = gpu(name, &[]);
    for assignment in overrides {
        if let Err(error) = gpu.set(assignment) {
            return error.to_string();
        }
    }
    let made = MemorySystem::new(&gpu).map(|_| ());
    made.expect_err(&overrides.join(" ")).to_string()
}

#[test]
fn impossible_caches() {
    let a6000 = |set: &str| refused("rtx-a6000", &[set]);
    assert!(a6000("l2.ways=0").contains("`l2.ways` is 0, but must be in 1..=16"));
    assert!(a6000("l2.sets=0").contains("`l2.sets` is 0, but must be in"));
    assert!(a6000("l2.sets=96").contains("`l2.sets`: is 96, but must be a power of two"));
    assert!(a6000("l2.slices_per_partition=0").contains("`l2.slices_per_partition` is 0"));
    let text = a6000("memory.l2_size=6291457");
    assert!(text.contains("`memory.l2_size`: is 6291457, but must be slices x sets x ways"));
    assert!(text.contains("which is 6291456"), "{text}");
}

#[test]
fn more_slices_than_ports() {
    let text = refused("rtx-a6000", &["l2.partitions=25"]);
    assert!(text.starts_with("gpus/ga102.toml:"), "{text}");
    assert!(
        text.ends_with(
            ": `crossbar.slice_ports`: is 48, but must be at least \
             l2.partitions x l2.slices_per_partition, which is 50"
        ),
        "{text}"
    );
    let text = refused("rtx-4090", &["crossbar.slice_ports=35"]);
    assert!(text.contains("`crossbar.slice_ports`: is 35"), "{text}");
}

#[test]
fn dram_that_is_none() {
    let a6000 = |set: &str| refused("rtx-a6000", &[set]);
    let text = a6000("dram.kind=gddr7");
    assert!(text.contains("`dram.kind`: is gddr7, but must be one of gddr6, gddr6x, hbm2"));
    assert!(a6000("dram.rows=65535").contains("`dram.rows`: is 65535, but must be a power of two"));
    let text = a6000("dram.rows=32768");
    assert!(text.contains("`memory.dram_size`: is 51539607552, but must be partitions x channels"));
    assert!(text.contains("which is 25769803776"), "{text}");
    assert!(a6000("memory.bus_width=256").contains("`memory.bus_width`: is 256"));
    assert!(a6000("dram.banks=12").contains("`dram.banks`: is 12, but must be a power of two"));
    let stall = refused(
        "rtx-4090",
        &["dram.refresh_stall=9999", "dram.refresh_period=9999"],
    );
    assert!(stall.contains("`dram.refresh_stall`: is 9999, but must be less than the 9999 ns"));
    // HBM needs channels of other widths.
    assert!(a6000("dram.kind=hbm2").contains("`memory.bus_width`"));
}

#[test]
fn masks_of_wrong_rank() {
    let ada = |set: &str| refused("rtx-4090", &[set]);
    let rank = "independent over GF(2)";
    // Bit 1 is that of bit 0 twice over: its quotient's mask decides.
    let text = ada(
        "l2.set_quotient_masks=0xE500,0xE500,0x27C00,0x45500,0x80300,0x104200,0x200B00,0x401600,0x804600,0x6400",
    );
    assert!(
        text.contains("`l2.set_masks`") && text.contains(rank),
        "{text}"
    );
    let text = ada("l2.set_masks=0x80,0x100,0x180");
    assert!(
        text.contains("`l2.set_masks`") && text.contains("10 masks"),
        "{text}"
    );
    let text = ada("l2.set_masks=0x8,0x100,0x180,0x200,0x400,0x800,0x1000,0x2000,0x4000,0x8000");
    assert!(text.contains("masks over the bits 7 to 38"), "{text}");
    assert!(
        ada("l2.set_quotient=1000").contains("`l2.set_quotient`: is 1000, but must be a multiple")
    );
    assert!(
        ada("l2.set_residues=2,9")
            .contains("`l2.set_residues`: is 2, 9, but must be numbers below 9")
    );
    assert!(ada("l2.set_block=33000").contains("`l2.set_block`"));

    let slice = |masks: &str| ada(&format!("l2.slice_masks={masks}"));
    // The third is the exclusive-or of the first two.
    let text =
        slice("0x76A990400,0x2CCF7B000,0x5A66EB400,0x2882B0800,0x8000,0x5985E0500,0x2354E4400");
    assert!(
        text.contains("`l2.slice_masks`") && text.contains(rank),
        "{text}"
    );
    // Independent, but not over the bits that tell controllers apart.
    let text =
        slice("0x76A990000,0x2CCF7B000,0x3C9041000,0x2882B0800,0x8000,0x5985E0500,0x2354E4400");
    assert!(text.contains("whose first four are independent"), "{text}");
    assert!(slice("0x80,0x100").contains("7 masks"));
    assert!(ada("l2.slice_weights=5,7,5,2").contains("`l2.slice_weights`"));
    assert!(ada("l2.slice_turns=1,0,3").contains("`l2.slice_turns`"));
    assert!(ada("l2.slice_blocks=32768,100000").contains("`l2.slice_blocks`"));
    // The function is one of 12 controllers with 3 or 4 slices.
    assert!(
        ada("l2.slices_per_partition=2").contains("3 or 4")
            || ada("l2.slices_per_partition=2").contains("l2_size")
    );
}

#[test]
fn functions_without_their_numbers() {
    let text = refused("rtx-a6000", &["l2.set_hash=masks"]);
    assert!(text.contains("`l2.set_masks` is missing"), "{text}");
    let text = refused(
        "rtx-3060",
        &[
            "l2.slices_per_partition=4",
            "l2.slice_hash=ad102",
            "memory.l2_size=6291456",
        ],
    );
    assert!(text.contains("`l2.slice_masks` is missing"), "{text}");
    let text = refused("rtx-a6000", &["l2.slice_hash=ad102"]);
    assert!(
        text.contains("`l2.partitions`: is 24, but must be 12"),
        "{text}"
    );
    let text = refused("rtx-a6000", &["l2.slice_hash=fairest"]);
    assert!(
        text.contains("`l2.slice_hash` is fairest, but must be in fair, polynomial-mod, ad102")
    );
}
