mod schedule { pub mod code; pub mod scan; }
use schedule::{code::*,scan::*};
use std::collections::BTreeMap;
use hardware::latency::LatencyTable;
#[test]
fn scan() {
    let tables: BTreeMap<u32,LatencyTable> = [80,86,89].into_iter().map(|sm|(sm,LatencyTable::load(sm, sass::Class::NAMES).unwrap())).collect();
    let mut files = cubins(&root().join("kernels")); files.extend(cubins(&root().join("corpus"))); files.extend(cubins(std::path::Path::new("/tmp/feat")));
    if let Ok(f)=std::env::var("ONLY") { files.retain(|p| p.to_string_lossy().contains(&f)); }
    let mut all: BTreeMap<(u32,Pair),(Observed,String)> = BTreeMap::new();
    let mut kinds: BTreeMap<String,(usize,String)> = BTreeMap::new();
    for f in files { for c in sections(&f) {
        let table=&tables[&c.sm];
        let walk=Walk::new(table,&c.instructions); let s=walk.run();
        let t=|i:usize| format!("{:04x} {} {}", i*16, c.instructions[i].as_ref().unwrap().control, text(c.instructions[i].as_ref().unwrap()));
        for (p,o) in s.observed { let e=all.entry((c.sm,p)).or_insert((Observed{distance:u16::MAX,place:(0,0),count:0},String::new()));
            e.0.count+=o.count; if o.distance<e.0.distance { e.0.distance=o.distance; e.1=format!("{} | {} | {}",c.name,t(o.place.0),t(o.place.1)); } }
        for x in s.findings {
            let a=c.instructions[x.earlier].as_ref().unwrap(); let b=c.instructions[x.later].as_ref().unwrap();
            let key=format!("{} {:?} {}({}) -> {}({})",c.sm,x.hazard,sass::class(a).name(),a.opcode.text(),sass::class(b).name(),b.opcode.text());
            let e=kinds.entry(key).or_insert((0,format!("{} d{} {:?}: {} | {}",c.name,x.distance,x.register,t(x.earlier),t(x.later)))); e.0+=1;
        }
    }}
    println!("=== FINDINGS"); for (k,(n,e)) in &kinds { println!("{k}: {n}  e.g. {e}"); }
    println!("=== OBSERVED");
    for ((sm,(kind,a,b)),(o,e)) in &all { let need=tables[sm].distance(*kind,a.index(),b.index());
        println!("{sm} {} {} {} table {} seen {} x{} {} {}",kind.name(),a.name(),b.name(),need,o.distance,o.count,if o.distance<need {"BELOW"} else if o.distance==need {"tight"} else {"loose"}, e); }
}
fn text(i:&sass::Instruction)->String { format!("{}{} {:?} w{:?} r{:?}", i.opcode.text(), i.modifiers.iter().map(|m|format!(".{}",m.text())).collect::<String>(), i.guard.predicate.0, sass::footprint(i).writes.iter().map(|u|(u.file,u.first,u.count)).collect::<Vec<_>>(), sass::footprint(i).reads.iter().map(|u|(u.file,u.first,u.count)).collect::<Vec<_>>()) }
