//! The names most like one that is unknown.

/// At most three of the names, nearest first, of those near enough to be a slip.
pub(crate) fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let wanted: Vec<char> = wanted.chars().take(64).collect();
    let limit = (wanted.len() / 3).max(2);
    let mut near: Vec<(usize, &str)> = names
        .filter_map(|name| {
            let tail = name.rsplit('.').next().unwrap_or(name);
            let same_tail = tail.chars().eq(wanted.iter().copied());
            let distance = if same_tail { 1 } else { edits(&wanted, name) };
            (distance <= limit).then_some((distance, name))
        })
        .collect();
    near.sort();
    let least = near.first().map_or(0, |(distance, _)| *distance);
    near.retain(|(distance, _)| *distance == least);
    near.truncate(3);
    near.into_iter().map(|(_, name)| name.to_owned()).collect()
}

/// Edit distance (insertions, deletions, replacements).
fn edits(a: &[char], b: &str) -> usize {
    let mut row: Vec<usize> = (0..=a.len()).collect();
    for (i, b) in b.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, a) in a.iter().enumerate() {
            let replaced = diagonal + usize::from(*a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[a.len()]
}
