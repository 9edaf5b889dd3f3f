//! Recipes made to hurt: deep, long, wide or all of it. Each gives a sentence, in bounded time, without a panic and
//! within the stack of a small thread.

use std::time::{Duration, Instant};

use crate::fakes::faults;

/// Faults found on a thread with the usual 2 MiB of stack.
fn faults_of(text: String) -> Vec<String> {
    let started = Instant::now();
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(move || faults(&text)).unwrap();
    let lines = thread.join().unwrap();
    assert!(started.elapsed() < Duration::from_secs(60), "took {:?}", started.elapsed());
    assert!(lines.len() <= 101);
    assert!(lines.iter().all(|line| line.len() < 1000), "{} bytes", lines[0].len());
    lines
}

#[test]
fn brackets_inside_each_other() {
    for (open, close) in [("[", "]"), ("{ a = ", "}")] {
        for n in [40, 100, 100_000] {
            let text = format!("seed = {}1{}\n", open.repeat(n), close.repeat(n));
            assert!(!faults_of(text).is_empty());
        }
        assert!(!faults_of(format!("seed = {}", open.repeat(1_000_000))).is_empty());
    }
    let lines = faults_of(format!("seed = {}1{}", "[".repeat(40), "]".repeat(40)));
    assert_eq!(lines[1], "test.toml:1:40: lists and tables are nested more than 32 levels deep");
}

#[test]
fn keys_of_many_parts() {
    for n in [40, 79, 200, 500_000] {
        let key = vec!["a"; n].join(".");
        assert!(!faults_of(format!("{key} = 1\n")).is_empty());
        assert!(!faults_of(format!("[{key}]\n")).is_empty());
        assert!(!faults_of(format!("[[{key}]]\n")).is_empty());
    }
}

#[test]
fn the_deepest_the_parser_lets_through() {
    // Its bounds are 80 brackets and 80 parts a key, which multiply.
    let key = vec!["a"; 79].join(".");
    let text = format!("[{key}]\n{key} = {}1{}\n", format!("{{ {key} = ").repeat(78), "}".repeat(78));
    assert!(!faults_of(text).is_empty());
}

#[test]
fn very_many_steps() {
    let steps = |n: usize| {
        (0..n).map(|i| format!("[[step]]\nid = \"s{i}\"\nop = \"source.waves\"\n")).collect::<String>()
    };
    assert_eq!(faults_of(steps(10_001)), ["test.toml:1:3: 10001 steps, more than the limit of 10000"]);
    assert!(faults_of(format!("frame.samples = 9\n{}", steps(3000))).is_empty());
    // Thousands of faulty ones: a hundred are reported.
    let lines = faults_of("[[step]]\n".repeat(9000));
    assert_eq!(lines.len(), 101);
    assert_eq!(lines[100], "test.toml: and 17900 more");
}

#[test]
fn very_many_steps_that_name_the_wrong_ones() {
    let steps = |rest: &dyn Fn(usize) -> String| {
        let step = |i: usize| format!("[[step]]\nid = \"step-{i}\"\nop = \"cover.ids\"\n{}\n", rest(i));
        format!("frame.samples = 9\n{}", (0..9000).map(step).collect::<String>())
    };
    for text in [
        steps(&|i| format!("from = \"stop-{i}\"")),
        steps(&|i| format!("from = \"step-{}\"", i + 1)),
        steps(&|_| String::from("mask = \"slope\"")),
    ] {
        assert!(faults_of(text).len() >= 100);
    }
}

#[test]
fn very_many_keys_and_very_long_ones() {
    let keys: String = (0..200_000).map(|i| format!("k{i} = 1\n")).collect();
    assert_eq!(faults_of(keys), ["test.toml:1:1: the table has 200000 keys, more than the limit of 4096"]);
    let long = "k".repeat(1 << 20);
    let lines = faults_of(format!("{long} = 1\n"));
    assert_eq!(lines[0], "test.toml:1:1: the key has 1048576 bytes, more than the limit of 128");
    assert!(
        !faults_of(format!("[[step]]\nid = \"{long}\"\nop = \"{long}\"\nfrom = \"{long}\"\n")).is_empty()
    );
    let text = format!("[[step]]\nid = \"a\"\nop = \"source.troubled\"\nparams.kind = \"{long}\"\n");
    assert!(!faults_of(text).is_empty());
}

#[test]
fn very_long_lists() {
    let list = "1,".repeat(1_900_000);
    let step = "[[step]]\nid = \"a\"\nop = \"source.waves\"\n";
    let lines = faults_of(format!("{step}params.enabled_in = [{list}]\n"));
    assert!(lines.len() >= 100, "{}", lines.len());
    assert!(!faults_of(format!("{step}params.length_m = [{list}]\n")).is_empty());
}

#[test]
fn very_many_small_tables() {
    assert_eq!(
        faults_of(format!("seed = [{}]\n", "{a=1},".repeat(500_000))),
        [
            "test.toml:1:1: seed: expected a string or a whole number, found a list of 500000",
            "test.toml:1:1: the recipe has no [[step]]; it needs at least one"
        ]
    );
}

#[test]
fn syntax_faults_without_end() {
    let lines = faults_of("= =\n".repeat(20_000));
    assert_eq!(lines.len(), 101);
    assert!(!faults_of("= =\n".repeat(900_000)).is_empty());
    assert!(!faults_of("\"".repeat(1_000_000)).is_empty());
}
