//! Every fault of a recipe in one list, whatever kinds there are.

use orogen::BuildOptions;
use orogen::recipe::{Limits, Overrides, Recipe, Set};

#[test]
fn no_kind_of_fault_hides_another() {
    let text = "\
[[step]]
id = \"first\"
op = \"source.dem\"
params = { path = \"gone.tif\" }
[[step]]
id = \"again\"
op = \"erode.thermal\"
mask = \"mask.none\"
[[step]]
id = \"land\"
op = \"source.dem\"
params = { path = \"nowhere.tif\", no_such = 1 }
[[step]]
id = \"hot\"
op = \"erode.thermal\"
mask = \"mask.none\"
params = { talus_deg = 900 }
[[export]]
kind = \"no such kind\"
";
    let recipe = Recipe::parse("test.toml", text.as_bytes()).unwrap();
    let set = ["nope.x=1", "again.talus_deg=0"].map(|text| Set::parse(text).unwrap()).to_vec();
    let options = BuildOptions {
        overrides: Overrides { set, ..Overrides::default() },
        limits: Limits { memory_bytes: 1000 },
        ..BuildOptions::default()
    };
    let faults = orogen::check(&recipe, &options).map(|_| ()).unwrap_err().to_string();
    for wanted in [
        "step \"land\": no_such: no such parameter",
        "nowhere.tif",
        "step \"hot\": talus_deg: 900 is outside",
        "gone.tif",
        "kind",
        "set nope.x: the recipe has no step \"nope\"",
        "set again.talus_deg: 0 is outside",
        "more than the limit of 1000 bytes",
    ] {
        assert!(faults.contains(wanted), "{wanted} is not in\n{faults}");
    }
    // What a faulty step makes is not known, so nothing is said about the mask of the step after it.
    assert_eq!(faults.matches("mask: no layer \"mask.none\"").count(), 1, "{faults}");
}
