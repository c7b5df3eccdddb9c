//! Following an instruction changes nothing of a run.

mod laws_support;

use device::{Files, RunOptions, RunReport, Session, WalkRequest};
use laws_support::{gpu, kernels, timing, workload};

fn run(file: &str, name: &str, walk: Option<WalkRequest>, window: Option<u64>) -> RunReport {
    let files = Files::Folder(kernels().join(file).parent().expect("a folder").to_owned());
    let options = RunOptions {
        walk,
        window,
        ..RunOptions::default()
    };
    let workload = workload(file);
    Session::new(&workload, &files, gpu(name), &options)
        .and_then(|mut session| session.run(&options, &mut |_| ()))
        .unwrap_or_else(|error| panic!("{file} on {name}: {error}"))
}

#[test]
fn cycles_and_statistics_are_the_same_with_and_without_a_walk() {
    for (name, windows) in [
        ("rtx-4090", [None, Some(7)]),
        ("rtx-a6000", [None, Some(1)]),
    ] {
        for file in ["vadd/vadd.toml", "histogram/histogram_global.toml"] {
            let without = run(file, name, None, None);
            let mut walks = Vec::new();
            for window in windows {
                let with = run(file, name, Some(WalkRequest::default()), window);
                assert!(with.passed());
                for (with, without) in with.launches.iter().zip(&without.launches) {
                    let (with, without) = (timing(with), timing(without));
                    assert_eq!(with.cycles, without.cycles, "{file} on {name}");
                    assert_eq!(with.metrics, without.metrics, "{file} on {name}");
                    assert_eq!(with.issue_slots, without.issue_slots, "{file} on {name}");
                }
                let followed = with
                    .launches
                    .iter()
                    .filter_map(|one| timing(one).walk.clone());
                walks.push(followed.collect::<Vec<_>>());
            }
            assert_eq!(walks[0].len(), 1, "one launch is followed");
            assert!(walks.iter().all(|walk| *walk == walks[0]), "windows");
            assert!(
                without
                    .launches
                    .iter()
                    .all(|one| timing(one).walk.is_none())
            );
        }
    }
}

/// Without a warp the load is followed that the DRAM serves first, so that its row opens for it.
#[test]
fn the_first_load_from_dram_opens_its_row() {
    use device::{Chosen, RowState, Structure};
    for name in ["rtx-4090", "rtx-a6000", "a100-sxm4-40gb", "rtx-2080-ti"] {
        let with = run("vadd/vadd.toml", name, Some(WalkRequest::default()), None);
        let walk = timing(&with.launches[0]).walk.clone().expect("a walk");
        let state = |structure| {
            let hops = walk
                .hops
                .iter()
                .filter(move |hop| hop.structure == structure);
            hops.filter_map(|hop| match hop.chosen {
                Chosen::Bank { state, .. } => Some(state),
                _ => None,
            })
        };
        let mut opened = state(Structure::Row);
        assert!(
            opened.any(|state| state == RowState::Opened),
            "{name}: {walk:?}"
        );
        let columns = state(Structure::Column).count();
        assert_eq!(columns, 4, "{name}: four sectors");
        let sms: Vec<u16> = walk
            .hops
            .iter()
            .filter(|hop| hop.packet.is_some())
            .map(|hop| hop.sm.0)
            .collect();
        assert!(
            sms.iter().all(|sm| *sm == walk.sm),
            "{name}: steps of another SM"
        );
    }
}
