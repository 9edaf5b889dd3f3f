//! Ends the program after every single step of a commit and looks at what is left.
//!
//! The test program runs itself: the child builds into a folder and dies, without unwinding, after a given step.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs};

use sha2::{Digest as _, Sha256};

use super::super::tests::build;
use super::super::{Existing, FolderError, OutputFolder};
use super::{JOURNAL, MANIFEST};
use crate::sidecar::hex;

const FOLDER: &str = "OROGEN_TEST_KILL_FOLDER";
const AFTER: &str = "OROGEN_TEST_KILL_AFTER";
const FORCE: &str = "OROGEN_TEST_KILL_FORCE";

static STEPS: AtomicU32 = AtomicU32::new(0);

/// Counts a step, and ends the program when it is the one.
pub(super) fn count() {
    let Some(after) = env::var(AFTER).ok().and_then(|n| n.parse::<u32>().ok()) else { return };
    if STEPS.fetch_add(1, Ordering::Relaxed) + 1 == after {
        std::process::abort();
    }
}

const OLD: [(&str, &str); 4] =
    [("height.tif", "old height"), ("same.tif", "same"), ("stale.tif", "stale"), ("tiles/0.png", "old tile")];
const NEW: [(&str, &str); 4] =
    [("height.tif", "new height"), ("same.tif", "same"), ("added.tif", "added"), ("tiles/1.png", "new tile")];
/// The user's own.
const OWN: [(&str, &str); 3] =
    [("notes.txt", "mine"), ("tiles/own.png", "mine"), ("stale.tif.aux.xml", "mine")];

/// The build that dies; does nothing when run as a test of its own.
#[test]
fn dying_child() {
    let Some(folder) = env::var_os(FOLDER) else { return };
    let existing = if env::var_os(FORCE).is_some() { Existing::Replace } else { Existing::Keep };
    build(Path::new(&folder), existing, &NEW).unwrap();
}

/// Whether the child lived to the end.
fn build_until(folder: &Path, step: u32, force: bool) -> bool {
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["--exact", "folder::commit::kills::dying_child"]).env(FOLDER, folder);
    child.env(AFTER, step.to_string());
    if force {
        child.env(FORCE, "1");
    }
    child.output().unwrap().status.success()
}

fn content(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().to_string_lossy().replace('\\', "/");
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(name, String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned());
            }
        }
    }
    found
}

fn texts<const N: usize>(files: [(&str, &str); N]) -> BTreeMap<String, String> {
    files.into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect()
}

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// As long as a manifest is there, every file that it lists is as it says; without one there is a journal, or nothing of
/// ours.
fn assert_recognisable(found: &BTreeMap<String, String>, step: u32) {
    match found.get(MANIFEST) {
        Some(manifest) => {
            let manifest: serde_json::Value = serde_json::from_str(manifest).unwrap();
            for file in manifest["files"].as_array().unwrap() {
                let name = file["name"].as_str().unwrap();
                let hash = found.get(name).map(|text| hex(&Sha256::digest(text.as_bytes())));
                assert_eq!(hash.as_deref(), file["sha256"].as_str(), "{name} after step {step}");
            }
        }
        None => assert!(found.contains_key(JOURNAL), "after step {step}: {:?}", found.keys()),
    }
}

#[test]
fn a_kill_after_any_step_leaves_a_state_that_is_known_and_heals() {
    let mut step = 0;
    loop {
        step += 1;
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("out");
        build(&folder, Existing::Keep, &OLD).unwrap();
        write(&folder, &OWN);
        let done = build_until(&folder, step, false);
        let found = content(&folder);
        assert_recognisable(&found, step);
        for (name, text) in OWN {
            assert_eq!(found.get(name).map(String::as_str), Some(text), "{name} after step {step}");
        }
        // A second death, in the build that should heal.
        if step % 3 == 0 {
            build_until(&folder, step / 3 + 1, false);
            assert_recognisable(&content(&folder), step);
        }
        build(&folder, Existing::Keep, &NEW).unwrap();
        let mut healed = content(&folder);
        assert!(healed.remove(MANIFEST).is_some());
        let wanted: BTreeMap<_, _> = texts(NEW).into_iter().chain(texts(OWN)).collect();
        assert_eq!(healed, wanted, "after step {step}");
        if done {
            break;
        }
    }
    // The journal in and out, a manifest out and one in, four outputs of two steps each or so, two stale files.
    assert!(step > 12, "only {step} steps were seen");
}

#[test]
fn a_kill_of_the_first_build_into_a_folder_heals_too() {
    let mut step = 0;
    loop {
        step += 1;
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("out");
        write(&folder, &OWN);
        let done = build_until(&folder, step, false);
        assert_recognisable(&content(&folder), step);
        build(&folder, Existing::Keep, &NEW).unwrap();
        let mut healed = content(&folder);
        assert!(healed.remove(MANIFEST).is_some());
        let wanted: BTreeMap<_, _> = texts(NEW).into_iter().chain(texts(OWN)).collect();
        assert_eq!(healed, wanted, "after step {step}");
        if done {
            break;
        }
    }
    assert!(step > 8, "only {step} steps were seen");
}

#[test]
fn what_a_killed_build_was_to_replace_by_force_is_not_taken_for_its_own() {
    let mut step = 0;
    loop {
        step += 1;
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("out");
        write(&folder, &[("height.tif", "a survey of years")]);
        let done = build_until(&folder, step, true);
        let replaced = content(&folder)["height.tif"] == "new height";
        match build(&folder, Existing::Keep, &NEW) {
            Ok(()) => assert!(replaced, "replaced without being asked, after step {step}"),
            Err(FolderError::InTheWay { files, .. }) => {
                assert!(!replaced && files[0].0 == Path::new("height.tif"), "{files:?} after step {step}");
                build(&folder, Existing::Replace, &NEW).unwrap();
            }
            Err(other) => panic!("{other}"),
        }
        if done {
            break;
        }
    }
}

#[test]
fn a_save_after_a_killed_commit_does_not_forget_which_files_are_ours() {
    let mut step = 0;
    loop {
        step += 1;
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("out");
        build(&folder, Existing::Keep, &OLD).unwrap();
        let done = build_until(&folder, step, false);
        // Twice: what the first leaves must do for the second.
        for text in ["one", "two"] {
            let expected = ["saved.exr", MANIFEST].map(String::from);
            let save = OutputFolder::with_manifest(&folder, Existing::Keep, Vec::new(), &expected).unwrap();
            let written = save.write("saved.exr", text.as_bytes()).unwrap();
            let mut files = save.kept_entries();
            files.push(serde_json::json!({ "name": "saved.exr", "sha256": hex(&written.sha256) }));
            let manifest = serde_json::json!({ "orogen": "0", "files": files }).to_string();
            save.write(MANIFEST, manifest.as_bytes()).unwrap();
            save.commit().unwrap();
            assert_recognisable(&content(&folder), step);
        }
        build(&folder, Existing::Keep, &NEW).unwrap_or_else(|e| panic!("after step {step}: {e}"));
        let mut found = content(&folder);
        assert!(found.remove(MANIFEST).is_some());
        assert_eq!(found, texts(NEW), "after step {step}");
        if done {
            break;
        }
    }
    assert!(step > 10, "{step} steps");
}
