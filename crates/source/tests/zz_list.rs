mod schedule { pub mod code; }
use schedule::code::*;
#[test]
fn list() {
    let f=std::env::var("F").unwrap(); let sec=std::env::var("S").unwrap_or_default();
    let lo=usize::from_str_radix(&std::env::var("LO").unwrap_or("0".into()),16).unwrap(); let hi=usize::from_str_radix(&std::env::var("HI").unwrap_or("ffffff".into()),16).unwrap();
    for c in sections(std::path::Path::new(&f)) { if !c.name.contains(&sec) {continue;} println!("{}",c.name);
      for (n,i) in c.instructions.iter().enumerate() { let pc=n*16; if pc<lo||pc>hi {continue;} match i { None=>println!("{pc:04x} ???"), Some(i)=>println!("{pc:04x} {} @{}{} {} r{:?} w{:?}", i.control, if i.guard.negate {"!"} else {""}, i.guard.predicate.0, i.opcode.text().to_string()+&i.modifiers.iter().map(|m|format!(".{}",m.text())).collect::<String>(),sass::footprint(i).reads.iter().map(|u|(u.file,u.first,u.count)).collect::<Vec<_>>(),sass::footprint(i).writes.iter().map(|u|(u.file,u.first,u.count)).collect::<Vec<_>>()) }}
    }
}
