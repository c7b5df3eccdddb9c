//! What is written is read back the same.

use cubin::{Cubin, NewCubin, NewKernel, Parameter, WriteError};

fn kernel(name: &str) -> NewKernel {
    NewKernel {
        name: name.to_owned(),
        code: (0..48).collect(),
        registers: 24,
        barriers: 1,
        shared: 0x420,
        local: 16,
        parameter_base: 0x160,
        parameters: vec![(0, 8), (8, 4)],
        constant2: vec![7; 12],
        exits: vec![32],
    }
}

#[test]
fn a_written_cubin_reads_back() {
    let second = NewKernel {
        name: "plain".to_owned(),
        code: vec![0; 16],
        registers: 8,
        parameter_base: 0x160,
        ..NewKernel::default()
    };
    let new = NewCubin {
        sm: 86,
        kernels: vec![kernel("full"), second],
        constant3: vec![1, 2, 3, 4],
    };
    let bytes = new.write().expect("a cubin");
    let cubin = Cubin::parse(&bytes).expect("a readable cubin");
    assert_eq!((cubin.sm(), cubin.abi_version()), (86, 8));
    let full = cubin.kernel("full").expect("the first kernel");
    assert_eq!(full.code, new.kernels[0].code);
    assert_eq!((full.registers, full.barriers), (24, 1));
    assert_eq!((full.static_shared, full.local_per_thread), (0x420, 16));
    assert_eq!((full.parameter_base, full.parameter_size), (0x160, 12));
    let place = |index, offset, size| Parameter {
        index,
        offset,
        size,
    };
    assert_eq!(full.parameters, [place(0, 0, 8), place(1, 8, 4)]);
    assert_eq!(full.constant2.as_deref(), Some(&[7; 12][..]));
    let plain = cubin.kernel("plain").expect("the second kernel");
    assert_eq!((plain.registers, plain.static_shared), (8, 0));
    assert!(plain.parameters.is_empty());
    assert_eq!(cubin.constant_bank(3, None), Some(&[1, 2, 3, 4][..]));
    assert!(cubin.not_loaded().is_empty());
}

#[test]
fn what_does_not_fit_is_refused() {
    let write = |kernels: Vec<NewKernel>| {
        NewCubin {
            sm: 80,
            kernels,
            constant3: Vec::new(),
        }
        .write()
    };
    assert!(matches!(
        write(vec![kernel("a"), kernel("a")]),
        Err(WriteError::Name(_))
    ));
    assert!(matches!(write(vec![kernel("")]), Err(WriteError::Name(_))));
    let mut odd = kernel("odd");
    odd.code.pop();
    assert!(matches!(write(vec![odd]), Err(WriteError::Code { .. })));
    let mut many = kernel("many");
    many.registers = 256;
    assert!(matches!(write(vec![many]), Err(WriteError::TooMany { .. })));
    let mut large = kernel("large");
    large.parameters = vec![(0, u32::MAX)];
    assert!(matches!(
        write(vec![large]),
        Err(WriteError::TooMany { .. })
    ));
}
