//! Lists what a cubin uses that does not execute.
fn main() {
    for path in std::env::args().skip(1) {
        let cubin = cubin::Cubin::parse(&std::fs::read(&path).expect("a file")).expect("a cubin");
        let architecture = sass::Architecture::from_number(cubin.sm()).expect("an architecture");
        for function in cubin.functions() {
            for (index, chunk) in function.code.chunks_exact(16).enumerate() {
                let word = sass::Word::from_bytes(chunk.try_into().expect("16 bytes"));
                match sass::decode(word, architecture) {
                    sass::Decoded::Instruction(i) => {
                        if let Some(reason) = exec::refusal(&i) {
                            println!(
                                "{path} {} {:#x}: {}: {reason}",
                                function.name,
                                index * 16,
                                i.display(index as u64 * 16)
                            );
                        }
                    }
                    sass::Decoded::Unknown(word) => println!(
                        "{path} {} {:#x}: unknown {:#x}",
                        function.name,
                        index * 16,
                        word.0
                    ),
                }
            }
        }
    }
}
