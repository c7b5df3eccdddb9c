mod schedule { pub mod code; }
use schedule::code::*;
use std::collections::BTreeMap;
#[test]
fn stats() {
    let mut unknown: BTreeMap<(u32,u64), usize> = BTreeMap::new();
    let mut per: BTreeMap<(u32,&str,String), [usize;4]> = BTreeMap::new();
    let mut n=0;
    let mut files = cubins(&root().join("kernels")); files.extend(cubins(&root().join("corpus"))); files.extend(cubins(std::path::Path::new("/tmp/feat")));
    for f in files { for c in sections(&f) { for i in &c.instructions { n+=1; match i {
        None => *unknown.entry((c.sm,0)).or_default()+=1,
        Some(i) => { let e=per.entry((c.sm,sass::class(i).name(), i.opcode.text().to_string())).or_default();
            e[i.control.write_counter.is_some() as usize + 2*i.control.read_counter.is_some() as usize]+=1; }
    }}}}
    println!("{n} instructions, unknown {unknown:?}");
    for (k,v) in per { println!("{:?} none {} W {} R {} RW {}",k,v[0],v[1],v[2],v[3]); }
}
