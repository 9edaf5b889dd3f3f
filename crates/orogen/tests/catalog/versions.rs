//! A result that changes raises its operator's version: otherwise caches would go on serving the old one.
//!
//! `tests/golden/versions.toml` holds a hash of what each operator makes of a small land. `cargo xtask goldens` renews it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use orogen_core::Operator;
use orogen_core::testkit::bits;
use serde::Deserialize;
use sha2::{Digest, Sha256};

/// What is known of an operator's results.
#[derive(Debug, Deserialize, PartialEq)]
struct Known {
    version: u32,
    hash: String,
}

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/versions.toml")
}

#[test]
fn a_changed_result_raises_its_version() {
    let catalog = orogen::catalog();
    let now: BTreeMap<&str, Known> = catalog
        .operators()
        .iter()
        .map(|operator| (operator.id, Known { version: operator.version, hash: hash(operator) }))
        .collect();
    let text = std::fs::read_to_string(file()).unwrap_or_default();
    let known: BTreeMap<String, Known> = toml::from_str(&text).expect("versions.toml: renew it");
    let wrong = changed(&known, &now);
    if std::env::var_os("OROGEN_RENEW_GOLDENS").is_some() {
        std::fs::write(file(), written(&renewed(&known, &now))).expect("versions.toml can be written");
        let left: Vec<&String> =
            wrong.iter().filter(|sentence| sentence.contains("raise its VERSION")).collect();
        assert!(left.is_empty(), "\n{left:#?}");
        return;
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// What is known from now on: renewing does not hide a result that changed without a raised version.
fn renewed<'a>(
    known: &'a BTreeMap<String, Known>,
    now: &'a BTreeMap<&str, Known>,
) -> BTreeMap<&'a str, &'a Known> {
    let one = |(id, now): (&&'a str, &'a Known)| match known.get(*id) {
        Some(known) if known.version >= now.version => (*id, known),
        _ => (*id, now),
    };
    now.iter().map(one).collect()
}

/// What does not agree, in sentences that say what to do.
fn changed(known: &BTreeMap<String, Known>, now: &BTreeMap<&str, Known>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (id, now) in now {
        match known.get(*id) {
            None => wrong.push(format!("{id} is not in versions.toml: run `cargo xtask goldens`")),
            Some(known) if known == now => {}
            Some(known) if known.version == now.version => wrong.push(format!(
                "{id} gives another result with the same version {}: raise its VERSION, or undo the change",
                now.version
            )),
            Some(known) if known.version > now.version => wrong.push(format!(
                "{id} went from version {} back to {}: raise its VERSION above {}",
                known.version, now.version, known.version
            )),
            Some(known) => wrong.push(format!(
                "{id} went from version {} to {}: run `cargo xtask goldens`",
                known.version, now.version
            )),
        }
    }
    let gone = known.keys().filter(|id| !now.contains_key(id.as_str()));
    wrong.extend(gone.map(|id| format!("{id} is in versions.toml only: run `cargo xtask goldens`")));
    wrong
}

fn written(known: &BTreeMap<&str, &Known>) -> String {
    let mut text = String::from(
        "# A hash of what each operator makes of a small land, by crates/orogen/tests/catalog/versions.rs.\n\
         # Renewed by `cargo xtask goldens`. A result that changes raises its operator's VERSION.\n\n",
    );
    for (id, Known { version, hash }) in known {
        let _ = writeln!(text, "\"{id}\" = {{ version = {version}, hash = \"{hash}\" }}");
    }
    text
}

/// Of layers and vectors that the operator makes with its defaults, on a small land with and without holes.
fn hash(operator: &Operator) -> String {
    let mut digest = Sha256::new();
    bits::of_operator(operator, &mut |bytes| digest.update(bytes));
    digest.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn hashes_see_operators_that_leave_coarse_samples_alone() {
    let catalog = orogen::catalog();
    let hashes = ["erode.detail", "shape.ground", "shape.paint"].map(|id| {
        let operator = catalog.operators().iter().find(|operator| operator.id == id).expect(id);
        hash(operator)
    });
    // That of the small land as it is: what all three were while nothing finer was looked at.
    let untouched = "dd5a75c2f2a5b6152d21c8f2d3f44f30";
    for (i, hash) in hashes.iter().enumerate() {
        assert!(hash != untouched && !hashes[..i].contains(hash), "{hashes:?}");
    }
}

#[test]
fn every_disagreement_has_its_sentence() {
    let one = |version, hash: &str| Known { version, hash: hash.to_owned() };
    let known = BTreeMap::from([
        (String::from("a.same"), one(1, "x")),
        (String::from("b.changed"), one(1, "x")),
        (String::from("c.raised"), one(1, "x")),
        (String::from("d.gone"), one(1, "x")),
        (String::from("e.back"), one(3, "x")),
    ]);
    let now = BTreeMap::from([
        ("a.same", one(1, "x")),
        ("b.changed", one(1, "y")),
        ("c.raised", one(2, "y")),
        ("e.back", one(2, "x")),
        ("f.new", one(1, "z")),
    ]);
    let wrong = changed(&known, &now);
    let words = [
        "b.changed gives another",
        "c.raised went",
        "e.back went from version 3 back",
        "f.new is not",
        "d.gone is",
    ];
    assert_eq!(wrong.len(), words.len(), "{wrong:#?}");
    for (sentence, word) in wrong.iter().zip(words) {
        assert!(sentence.starts_with(word), "{sentence:?} does not start with {word:?}");
    }
    // Renewing mends what was meant, and leaves what was not.
    let read: BTreeMap<String, Known> = toml::from_str(&written(&renewed(&known, &now))).unwrap();
    let left = changed(&read, &now);
    assert_eq!(left.len(), 2, "{left:#?}");
    assert!(left.iter().all(|sentence| sentence.contains("raise its VERSION")));
}
