//! Every kind of fault with its sentence and its place.

use orogen_recipe::{Limits, Overrides, Recipe, Set};

use crate::fakes::{catalog, check, checked, faults};

/// A step that is right, so that the rest of a recipe can be wrong.
const HILLS: &str = "[[step]]\nid = \"hills\"\nop = \"source.waves\"\n";

fn only(text: &str, expected: &str) {
    assert_eq!(faults(text), [expected], "in\n{text}");
}

/// The only fault of a recipe that starts with [`HILLS`]; its own first line is line 4.
fn after_hills(text: &str, expected: &str) {
    only(&format!("{HILLS}{text}"), expected);
}

#[test]
fn a_right_recipe_has_no_fault() {
    let checked = checked(&format!(
        "seed = 42\nframe = {{ size_m = [1000, 500.5], samples = [11, 6], origin_m = [-5, 7.5] }}\n{HILLS}\
         [[step]]\nid = \"blur\"\nop = \"shape.blur\"\n[step.params]\nradius_m = 20\n\
         [[export]]\nkind = \"unreal\"\ntile = 3\n"
    ));
    assert_eq!(checked.seed(), "42");
    assert_eq!((checked.frame().cols(), checked.frame().rows()), (11, 6));
    assert_eq!(checked.frame().extent().min, [-5.0, 7.5]);
    assert_eq!(checked.frame().size_m(), [1000.0, 500.5]);
    assert_eq!(checked.steps()[1].input, Some(0));
    assert_eq!(checked.exports()[0].kind, "unreal");
    assert_eq!(checked.exports()[0].options["tile"].as_integer(), Some(3));
    assert_eq!(checked.layers().iter().map(|l| l.as_str()).collect::<Vec<_>>(), ["height"]);
}

#[test]
fn what_is_left_out_has_defaults() {
    let checked = checked(HILLS);
    assert_eq!(checked.seed(), "orogen");
    assert_eq!((checked.frame().cols(), checked.frame().rows()), (1025, 1025));
    assert_eq!(checked.frame().size_m(), [8192.0, 8192.0]);
}

#[test]
fn empty_recipes() {
    only("", "test.toml:1:1: the recipe is empty; it needs at least one [[step]]");
    only(" \n\n", "test.toml:1:1: the recipe is empty; it needs at least one [[step]]");
    only("# only words\n", "test.toml:1:1: the recipe has no [[step]]; it needs at least one");
    only(
        "seed = 1\nstep = []",
        "test.toml:2:1: the list of steps is empty; a recipe needs at least one [[step]]",
    );
}

#[test]
fn text_that_is_no_toml() {
    let lines = faults("seed = \nframe = { size_m = }\n[[step]]\nid = \"a\nop = \"source.waves\"\n");
    assert_eq!(lines.len(), 3, "{lines:#?}");
    assert!(lines[0].starts_with("test.toml:1:8: not valid TOML: "), "{lines:#?}");
    assert!(lines[1].starts_with("test.toml:2:20: not valid TOML: "), "{lines:#?}");
    assert!(lines[2].starts_with("test.toml:4:"), "{lines:#?}");
    only(&format!("{HILLS}op = \"shape.blur\"\n"), "test.toml:4:1: not valid TOML: duplicate key");
    // A file cut anywhere gives faults or a shorter recipe, never a panic.
    let whole = format!(
        "seed = \"x\"\nframe = {{ size_m = 100.0, samples = [9, 9] }}\n{HILLS}params = {{ length_m = 1e2 }}\n"
    );
    for n in 0..whole.len() {
        let _ = check(&whole[..n]);
    }
}

#[test]
fn bytes_that_are_no_text() {
    let parse = |bytes: &[u8]| Recipe::parse("test.toml", bytes).unwrap_err().to_string();
    assert_eq!(
        parse(b"seed = 1\n# \xc3\xa9 \xff\n"),
        "test.toml:2:5: byte 0xff at offset 14 is not valid UTF-8; save the recipe as UTF-8"
    );
    assert_eq!(parse(&vec![b'#'; (4 << 20) + 1]), "test.toml: larger than 4 MiB, the limit for a recipe");
    // A byte-order mark is not a fault.
    let with_mark = format!("\u{feff}{HILLS}");
    assert!(faults(&with_mark).is_empty());
}

#[test]
fn keys_that_do_not_exist() {
    only(&format!("sed = 3\n{HILLS}"), "test.toml:1:1: no such key \"sed\"; did you mean \"seed\"?");
    only(
        &format!("frame = {{ sample = 9 }}\n{HILLS}"),
        "test.toml:1:11: no such frame key \"sample\"; did you mean \"samples\"?",
    );
    after_hills(
        "parms = { }\n",
        "test.toml:4:1: step \"hills\": no such key \"parms\"; did you mean \"params\"?",
    );
    after_hills(
        "length_m = 3\n",
        "test.toml:4:1: step \"hills\": no such key \"length_m\"; available: id, op, params, from, with, mask, \
         enabled; put the operator's parameters into params",
    );
}

#[test]
fn values_of_the_wrong_kind() {
    only(
        &format!("seed = 1.5\n{HILLS}"),
        "test.toml:1:1: seed: expected a string or a whole number, found 1.5",
    );
    only(
        &format!("frame = 7\n{HILLS}"),
        "test.toml:1:1: frame: expected a table such as { size_m = 8192, samples = 1025 }, found 7",
    );
    only(
        &format!("frame.size_m = \"big\"\n{HILLS}"),
        "test.toml:1:7: frame.size_m: expected a number in metres or a list of two, found \"big\"",
    );
    only(
        &format!("frame.samples = [5, 1e30]\n{HILLS}"),
        "test.toml:1:7: frame.samples: expected a whole number of at least 2 or a list of two, \
         found [5, 1000000000000000000000000000000]",
    );
    only(
        &format!("frame.samples = -1\n{HILLS}"),
        "test.toml:1:7: frame.samples: expected a whole number of at least 2 or a list of two, found -1",
    );
    only(
        &format!("frame.origin_m = 5\n{HILLS}"),
        "test.toml:1:7: frame.origin_m: expected a list of two numbers in metres, found 5",
    );
    only("[step]\nid = \"a\"\n", "test.toml:1:2: steps form a list: write [[step]], not [step]");
    only("step = 5\n", "test.toml:1:1: step: expected [[step]] tables, found 5");
    only("step = [5]\n", "test.toml:1:9: step: expected a table with id and op, found 5");
    after_hills("params = 5\n", "test.toml:4:1: step \"hills\": params: expected a table, found 5");
    after_hills("from = 5\n", "test.toml:4:1: step \"hills\": from: expected a string, found 5");
    after_hills(
        "enabled = \"no\"\n",
        "test.toml:4:1: step \"hills\": enabled: expected true or false, found \"no\"",
    );
    after_hills(
        "mask = \"Steep Land\"\n",
        "test.toml:4:1: step \"hills\": mask: \"Steep Land\" is not a valid layer name; use words of a-z, 0-9 and _ joined by \
         dots, as in \"mask.steep\"",
    );
    after_hills(
        "[[export]]\n",
        "test.toml:4:1: export: the kind is missing; add one, for example kind = \"geotiff\"",
    );
    after_hills("[export]\n", "test.toml:4:2: exports form a list: write [[export]], not [export]");
    only(
        &format!("seed = 99999999999999999999\n{HILLS}"),
        "test.toml:1:1: the integer \"99999999999999999999\" is out of range",
    );
}

#[test]
fn frames_that_cannot_be() {
    only(
        &format!("frame = {{ size_m = nan }}\n{HILLS}"),
        "test.toml:1:11: frame: size_m must be 0.001 to 1000000000 metres, found NaN",
    );
    only(
        &format!("frame = {{ size_m = [100, -1] }}\n{HILLS}"),
        "test.toml:1:11: frame: size_m must be 0.001 to 1000000000 metres, found -1",
    );
    only(
        &format!("frame = {{ origin_m = [inf, 0] }}\n{HILLS}"),
        "test.toml:1:11: frame: origin_m must be finite and within 1e9 m of zero, found inf",
    );
    only(
        &format!("frame.samples = 1000000\n{HILLS}"),
        "test.toml:1:7: 1000000 x 1000000 samples need about 58.2 TiB of memory, more than the limit of 8 GiB; \
         use fewer samples or allow more memory",
    );
    only(
        &format!("frame.samples = 9223372036854775807\n{HILLS}"),
        "test.toml:1:7: 9223372036854775807 x 9223372036854775807 samples need about \
         1024 TiB or more of memory, more than the limit of 8 GiB; use fewer samples or allow more memory",
    );
}

#[test]
fn the_limit_of_memory_can_be_raised() {
    let recipe = Recipe::parse("test.toml", format!("frame.samples = 2049\n{HILLS}").as_bytes()).unwrap();
    let check = |memory_bytes| recipe.check(&catalog(), &Limits { memory_bytes });
    assert_eq!(
        check(300 << 20).unwrap_err().to_string(),
        "test.toml:1:7: 2049 x 2049 samples need about 351.6 MiB of memory, more than the limit of 300 MiB; \
         use fewer samples or allow more memory"
    );
    assert!(check(400 << 20).is_ok());
}

#[test]
fn operators_say_how_much_memory_they_take() {
    // Beside the layer that waves made, 100 bytes a sample.
    let text = format!("frame.samples = 2049\n{HILLS}[[step]]\nid = \"n\"\nop = \"shape.normalise\"\n");
    let recipe = Recipe::parse("test.toml", text.as_bytes()).unwrap();
    let check = |memory_bytes| recipe.check(&catalog(), &Limits { memory_bytes });
    assert_eq!(
        check(500 << 20).unwrap_err().to_string(),
        "test.toml:1:7: 2049 x 2049 samples need about 511.8 MiB of memory, more than the limit of 500 MiB; \
         use fewer samples or allow more memory"
    );
    assert_eq!(check(520 << 20).unwrap().bytes_a_sample(), 104.0);
}

#[test]
fn ids() {
    only(
        "[[step]]\nop = \"source.waves\"\n",
        "test.toml:1:1: the step has no id; give it one, for example id = \"waves\"",
    );
    only(
        "[[step]]\nid = \"\"\nop = \"source.waves\"\n",
        "test.toml:2:1: id: \"\" is not a valid id; use 1 to 64 letters a-z and A-Z, digits, _ and -",
    );
    only(
        "[[step]]\nid = \"a.b\"\nop = \"source.waves\"\n",
        "test.toml:2:1: id: \"a.b\" is not a valid id; use 1 to 64 letters a-z and A-Z, digits, _ and -",
    );
    only("[[step]]\nid = 7\nop = \"source.waves\"\n", "test.toml:2:1: id: expected a string, found 7");
    after_hills(HILLS, "test.toml:5:1: step \"hills\": the step at line 1 already has this id");
}

#[test]
fn operators() {
    only(
        "[[step]]\nid = \"a\"\n",
        "test.toml:1:1: step \"a\": the step has no op; name its operator, for example op = \"source.island\"",
    );
    only(
        "[[step]]\nid = \"a\"\nop = \"source.wavs\"\n",
        "test.toml:3:1: step \"a\": no such operator \"source.wavs\"; did you mean \"source.waves\"?",
    );
    only("[[step]]\nid = \"a\"\nop = \"xyzzy\"\n", "test.toml:3:1: step \"a\": no such operator \"xyzzy\"");
}

#[test]
fn parameters() {
    after_hills(
        "params = { length_m = 0.5 }\n",
        "test.toml:4:12: step \"hills\": length_m: 0.5 is outside 1 to 1000000 m",
    );
    after_hills(
        "params.length_m = nan\n",
        "test.toml:4:8: step \"hills\": length_m: NaN is outside 1 to 1000000 m",
    );
    after_hills(
        "[step.params]\n  lenght_m = 5\n",
        "test.toml:5:3: step \"hills\": lenght_m: no such parameter; did you mean \"length_m\"?",
    );
    after_hills(
        "params = { length_m = \"far\" }\n",
        "test.toml:4:12: step \"hills\": length_m: expected a number (1 to 1000000 m), found \"far\"",
    );
    after_hills(
        "params.enabled_in = [\n  { x_m = 5 },\n  { x_m = 101 },\n]\n",
        "test.toml:6:5: step \"hills\": enabled_in[1].x_m: 101 is outside 0 to 100",
    );
    // A fault of two parameters together stands where one of them is written, or at the operator.
    after_hills(
        "[[step]]\nid = \"m\"\nop = \"mask.east\"\nparams = { to_m = 1, from_m = 2 }\n",
        "test.toml:7:22: step \"m\": from_m: must be less than to_m",
    );
    after_hills(
        "[[step]]\nid = \"m\"\nop = \"mask.east\"\nparams = { to_m = 1 }\n",
        "test.toml:6:1: step \"m\": from_m: must be less than to_m",
    );
}

#[test]
fn layers_that_are_missing() {
    only(
        "[[step]]\nid = \"b\"\nop = \"shape.blur\"\n",
        "test.toml:3:1: step \"b\": shape.blur needs the layer \"height\", which no earlier step makes; \
         there are no layers yet, so start with a source step",
    );
    after_hills(
        "mask = \"mask.steep\"\n",
        "test.toml:4:1: step \"hills\": mask: no layer \"mask.steep\" in the step's input; \
         there are no layers yet, so start with a source step",
    );
    // Changing the height drops the slope, so a later step finds it gone.
    after_hills(
        "[[step]]\nid = \"s\"\nop = \"survey.slope\"\n[[step]]\nid = \"b\"\nop = \"shape.blur\"\n\
         [[step]]\nid = \"i\"\nop = \"cover.ids\"\nmask = \"slope\"\n",
        "test.toml:13:1: step \"i\": mask: no layer \"slope\" in the step's input; available: height",
    );
    after_hills(
        "[[step]]\nid = \"s\"\nop = \"survey.slope\"\nparams.gain = \"moisture\"\n",
        "test.toml:6:1: step \"s\": survey.slope needs the layer \"moisture\", which no earlier step makes; \
         available: height",
    );
    // What a step of unknown operator makes is not guessed at.
    only(
        "[[step]]\nid = \"a\"\nop = \"xyzzy\"\n[[step]]\nid = \"b\"\nop = \"shape.blur\"\n",
        "test.toml:3:1: step \"a\": no such operator \"xyzzy\"",
    );
}

#[test]
fn steps_named_wrongly() {
    after_hills(
        "[[step]]\nid = \"b\"\nop = \"shape.blur\"\nfrom = \"hils\"\n",
        "test.toml:7:1: step \"b\": from: no step \"hils\" above; did you mean \"hills\"?",
    );
    after_hills(
        "[[step]]\nid = \"b\"\nop = \"shape.blur\"\nfrom = \"c\"\n[[step]]\nid = \"c\"\nop = \"source.waves\"\n",
        "test.toml:7:1: step \"b\": from: step \"c\" comes later, at line 8; a step may name only steps above it",
    );
    after_hills(
        "[[step]]\nid = \"b\"\nop = \"shape.blur\"\nfrom = \"b\"\n",
        "test.toml:7:1: step \"b\": from: the step names itself; a step may name only steps above it",
    );
    after_hills(
        "[[step]]\nid = \"c\"\nop = \"combine.mix\"\n",
        "test.toml:6:1: step \"c\": combine.mix combines two terrains; name the second step with `with`",
    );
    after_hills(
        "[[step]]\nid = \"b\"\nop = \"shape.blur\"\nwith = \"hills\"\n",
        "test.toml:7:1: step \"b\": with: shape.blur takes no second terrain; remove `with`",
    );
    only(
        "[[step]]\nid = \"i\"\nop = \"cover.ids\"\n[[step]]\nid = \"h\"\nop = \"source.waves\"\n\
         [[step]]\nid = \"c\"\nop = \"combine.mix\"\nwith = \"i\"\n",
        "test.toml:10:1: step \"c\": with: combine.mix needs the layer \"height\" of step \"i\"; available: biome",
    );
}

#[test]
fn all_faults_come_at_once_in_their_order() {
    let lines = faults(
        "frame.size_m = -1\nsed = 1\n[[step]]\nid = \"a\"\nop = \"source.wavs\"\n[[step]]\nid = \"a\"\n\
         op = \"source.waves\"\nparams = { length_m = 0, grain_m = -1 }\n",
    );
    let places: Vec<&str> = lines.iter().map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(
        places,
        [
            "test.toml:1:7",
            "test.toml:2:1",
            "test.toml:5:1",
            "test.toml:7:1",
            "test.toml:9:12",
            "test.toml:9:26"
        ]
    );
}

#[test]
fn a_recipe_of_disabled_steps_builds_nothing() {
    after_hills("enabled = false\n", "test.toml: every step is disabled; there is nothing to build");
}

#[test]
fn disabled_steps_are_still_checked() {
    after_hills(
        "[[step]]\nid = \"b\"\nop = \"shape.blur\"\nenabled = false\nparams = { radius_m = -1 }\n",
        "test.toml:8:12: step \"b\": radius_m: -1 is outside 0 to 1000 m",
    );
}

#[test]
fn a_step_that_nobody_uses_is_warned_of() {
    let checked = checked(&format!(
        "{HILLS}[[step]]\nid = \"more\"\nop = \"source.waves\"\n\
        [[step]]\nid = \"b\"\nop = \"shape.blur\"\nfrom = \"hills\"\n"
    ));
    assert_eq!(checked.warnings(), ["step \"more\" has no effect: no later step uses its result"]);
}

#[test]
fn layers_and_vectors_of_the_result() {
    let checked = checked(&format!(
        "{HILLS}[[step]]\nid = \"n\"\nop = \"shape.normalise\"\n[[step]]\nid = \"s\"\nop = \"survey.slope\"\n\
         [[step]]\nid = \"b\"\nop = \"shape.blur\"\n[[step]]\nid = \"i\"\nop = \"cover.ids\"\n"
    ));
    assert_eq!(checked.layers().iter().map(|l| l.as_str()).collect::<Vec<_>>(), ["biome", "height"]);
    assert_eq!(checked.vectors(), ["peaks".into()]);
}

#[test]
fn faults_of_exports_know_their_place() {
    let text = format!("{HILLS}[[export]]\nkind = \"unreal\"\ntile = {{ size = 3 }}\n");
    let recipe = Recipe::parse("test.toml", text.as_bytes()).unwrap();
    let export = &recipe.exports()[0];
    let path = [
        orogen_core::param::Segment::Key(String::from("tile")),
        orogen_core::param::Segment::Key(String::from("size")),
    ];
    assert_eq!(
        recipe.export_fault(export, &path, "size: found 3").text("test.toml"),
        "test.toml:6:10: export: size: found 3"
    );
    assert_eq!(recipe.export_fault(export, &[], "no").text("test.toml"), "test.toml:5:1: export: no");
}

fn with(text: &str, sets: &[&str]) -> Result<orogen_recipe::Checked, orogen_recipe::Faults> {
    let mut recipe = Recipe::parse("test.toml", text.as_bytes())?;
    let set = sets.iter().map(|text| Set::parse(text).unwrap()).collect();
    recipe.apply(&Overrides { set, ..Overrides::default() }, &catalog())?;
    recipe.check(&catalog(), &Limits::default())
}

#[test]
fn overrides_change_parameters() {
    let text = format!("{HILLS}params = {{ length_m = 5, enabled_in = [{{ x_m = 1 }}] }}\n");
    let params = |sets: &[&str]| with(&text, sets).unwrap().steps()[0].op.params().unwrap();
    assert_eq!(params(&["hills.length_m=77.5"])["length_m"].as_float(), Some(77.5));
    assert_eq!(params(&["hills.grain_m = 3"])["grain_m"].as_float(), Some(3.0));
    assert_eq!(params(&["hills.enabled_in[0].x_m=9"])["enabled_in"].to_string(), "[{ x_m = 9.0 }]");
    assert_eq!(
        params(&["hills.enabled_in[1].x_m=9"])["enabled_in"].to_string(),
        "[{ x_m = 1.0 }, { x_m = 9.0 }]"
    );
    // A later option wins.
    assert_eq!(params(&["hills.grain_m=3", "hills.grain_m=4"])["grain_m"].as_float(), Some(4.0));
    // Text needs no quotes.
    let text = format!("{HILLS}[[step]]\nid = \"t\"\nop = \"source.troubled\"\n");
    let file = |sets: &[&str]| with(&text, sets).unwrap().steps()[1].op.params().unwrap()["file"].to_string();
    assert_eq!(file(&["t.file=my dem.tif"]), "\"my dem.tif\"");
    assert_eq!(file(&["t.file=\"5\""]), "\"5\"");
}

#[test]
fn overrides_switch_steps() {
    let text = format!("{HILLS}[[step]]\nid = \"b\"\nop = \"shape.blur\"\n");
    assert_eq!(with(&text, &["b.enabled=false"]).unwrap().steps().len(), 1);
    assert_eq!(
        with(&text, &["b.enabled=no"]).unwrap_err().to_string(),
        "set b.enabled: expected true or false, found \"no\""
    );
}

#[test]
fn wrong_overrides_are_located_as_written() {
    let fault = |set: &str| with(HILLS, &[set]).unwrap_err().to_string();
    assert_eq!(
        fault("hils.length_m=3"),
        "set hils.length_m: the recipe has no step \"hils\"; did you mean \"hills\"?"
    );
    assert_eq!(fault("hills.length_m=0"), "set hills.length_m: 0 is outside 1 to 1000000 m");
    assert_eq!(fault("hills.length_m=nan"), "set hills.length_m: NaN is outside 1 to 1000000 m");
    assert_eq!(fault("hills.lengthm=3"), "set hills.lengthm: no such parameter; did you mean \"length_m\"?");
    assert_eq!(
        fault("hills.enabled_in=[{ x_m = 500 }]"),
        "set hills.enabled_in: enabled_in[0].x_m: 500 is outside 0 to 100"
    );
    assert_eq!(
        fault("hills.enabled_in[3].x_m=5"),
        "set hills.enabled_in[3].x_m: index 3 is out of range; enabled_in has 0 entries"
    );
    assert_eq!(
        fault("hills.length_m.x=5"),
        "set hills.length_m.x: length_m is 300, not a table with a key \"x\""
    );
    assert_eq!(
        fault("hills.a[b]=5"),
        "set hills.a[b]: \"a[b]\" is not a valid parameter path; write it as a, a.b or a[0].b"
    );
}

#[test]
fn a_wrong_parameter_hides_neither_the_mask_nor_the_file_of_its_step() {
    let text = format!(
        "{HILLS}[[step]]\nid = \"t\"\nop = \"source.troubled\"\nmask = \"mask.none\"\n\
         params = {{ kind = \"read\", file = \"no.tif\", height_n = 3 }}\n\
         [[step]]\nid = \"u\"\nop = \"no.such\"\nmask = \"mask.none\"\n"
    );
    let recipe = Recipe::parse("test.toml", text.as_bytes()).unwrap();
    let found = recipe.check(&catalog(), &Limits::default()).unwrap_err().to_string();
    assert!(found.contains("height_n: no such parameter"), "{found}");
    assert!(found.contains("step \"t\": mask: no layer \"mask.none\""), "{found}");
    let missing = |_: &str| Some(String::from("no such file"));
    let files = recipe.check_files(&catalog(), &missing).unwrap_err().to_string();
    assert!(files.ends_with("step \"t\": file: file \"no.tif\": no such file"), "{files}");
}

#[test]
fn a_change_that_fails_leaves_the_recipe_as_it_was_and_makes_the_others() {
    let mut recipe = Recipe::parse("test.toml", HILLS.as_bytes()).unwrap();
    let set = ["hills.new.b[0]=1", "nope.x=1", "hills.length_m=77"].map(|text| Set::parse(text).unwrap());
    let overrides = Overrides { set: set.to_vec(), ..Overrides::default() };
    let faults = recipe.apply(&overrides, &catalog()).unwrap_err();
    assert_eq!(faults.list.len(), 2, "{faults}");
    let checked = recipe.check(&catalog(), &Limits::default()).unwrap();
    let params = checked.steps()[0].op.params().unwrap();
    assert_eq!(params["length_m"].as_float(), Some(77.0));
}

#[test]
fn samples_keep_the_size_and_the_proportion() {
    let frame = |frame: &str, samples: usize| {
        let mut recipe = Recipe::parse("test.toml", format!("frame = {frame}\n{HILLS}").as_bytes()).unwrap();
        let overrides =
            Overrides { samples: Some(samples), seed: Some(String::from("s")), ..Overrides::default() };
        recipe.apply(&overrides, &catalog()).unwrap();
        recipe.check(&catalog(), &Limits::default()).map(|c| (*c.frame(), c.seed().to_owned()))
    };
    let (square, seed) = frame("{ size_m = 100.0, samples = 1025 }", 513).unwrap();
    assert_eq!((square.cols(), square.rows(), seed.as_str()), (513, 513, "s"));
    let (wide, _) = frame("{ size_m = [200, 100], samples = [201, 101] }", 401).unwrap();
    assert_eq!((wide.cols(), wide.rows(), wide.size_m()), (401, 201, [200.0, 100.0]));
    assert_eq!(
        frame("{ samples = 9 }", 1).unwrap_err().to_string(),
        "samples: frame: a frame needs at least 2 samples per side, found 1"
    );
    assert!(
        frame("{ samples = 9 }", 10_000_000).unwrap_err().to_string().starts_with("samples: 10000000 x ")
    );
}
