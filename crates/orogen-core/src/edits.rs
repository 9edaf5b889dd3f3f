//! Changes by hand to things that stand on the ground, each referring to the id of its thing.
//!
//! An id never changes while the step that made the thing stays, so edits outlive a change of what else grows around.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::instances::{self, Instance, Instances, InstancesError};
use crate::rng::Seed;

/// The id of a thing; as text 16 hexadecimal digits, since TOML and JSON cannot hold every 64-bit number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
#[schemars(with = "String")]
pub struct Id(pub u64);

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let digits = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = digits.then(|| u64::from_str_radix(&text, 16).ok()).flatten();
        number.map(Self).ok_or_else(|| {
            serde::de::Error::custom(format!(
                "{text:?} is not the id of a thing; use 16 digits of 0-9 and a-f, as in \"00c0ffee00c0ffee\""
            ))
        })
    }
}

/// What a thing is like; what is left out stays as it is, or is that of an upright grown one in full health.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Looks {
    /// The name of its species.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub species: Option<String>,
    /// Turn to the left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub yaw_deg: Option<f64>,
    /// Size against the usual one, below 16.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<f64>,
    /// How far it leans, from 0 to 90.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tilt_deg: Option<f64>,
    /// Which way it leans, to the left of east.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tilt_to_deg: Option<f64>,
    /// From 0 (seedling) to 1 (as old as it gets).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age: Option<f64>,
    /// From 0 (dead) to 1 (in full health).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<f64>,
}

/// One change by hand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "edit")]
pub enum Edit {
    /// Takes a thing away.
    Remove {
        /// The thing.
        id: Id,
    },
    /// Puts a thing somewhere else; it keeps its id.
    Move {
        /// The thing.
        id: Id,
        /// Where to, in metres.
        to_m: [f64; 2],
    },
    /// Makes a thing look different.
    Change {
        /// The thing.
        id: Id,
        /// What it is like from now on.
        looks: Looks,
    },
    /// Adds a thing.
    Add {
        /// Its id; made from its place when left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<Id>,
        /// Where, in metres.
        at_m: [f64; 2],
        /// What it is like; the species must be named.
        looks: Looks,
    },
}

/// An edit that could not be made, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmade {
    /// Its number in the list, from 0.
    pub edit: usize,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for Unmade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "edit {}: {}", self.edit, self.reason)
    }
}

/// Makes edits one after the other; those that cannot be made are reported and change nothing.
///
/// # Errors
/// When there are more things afterwards than a layer can hold.
pub fn apply(things: &Instances, edits: &[Edit]) -> Result<(Instances, Vec<Unmade>), InstancesError> {
    let mut edited = Edited {
        species: things.species().to_vec(),
        all: things.iter().map(|(place, thing)| Some((place, *thing))).collect(),
        by_id: BTreeMap::new(),
    };
    edited.by_id = edited.all.iter().flatten().enumerate().map(|(i, (_, thing))| (thing.id, i)).collect();
    let mut unmade = Vec::new();
    for (number, edit) in edits.iter().enumerate() {
        if let Err(reason) = edited.make(edit) {
            unmade.push(Unmade { edit: number, reason });
        }
    }
    Ok((Instances::new(edited.species, edited.all.into_iter().flatten())?, unmade))
}

struct Edited {
    species: Vec<String>,
    /// With their places; `None` for those taken away.
    all: Vec<Option<([f64; 2], Instance)>>,
    /// Where each of them lies in `all`.
    by_id: BTreeMap<u64, usize>,
}

impl Edited {
    fn make(&mut self, edit: &Edit) -> Result<(), String> {
        match edit {
            Edit::Remove { id } => {
                let at = self.find(*id)?;
                self.all[at] = None;
                self.by_id.remove(&id.0);
            }
            Edit::Move { id, to_m } => {
                let at = self.find(*id)?;
                check_place(*to_m)?;
                if let Some((place, _)) = &mut self.all[at] {
                    *place = *to_m;
                }
            }
            Edit::Change { id, looks } => {
                let at = self.find(*id)?;
                if let Some((place, thing)) = self.all[at] {
                    self.all[at] = Some((place, self.with(thing, looks)?));
                }
            }
            Edit::Add { id, at_m, looks } => {
                check_place(*at_m)?;
                if looks.species.is_none() {
                    return Err(String::from("a new thing needs a species"));
                }
                let id = id.map_or_else(|| self.free_id(*at_m), |id| id.0);
                if self.by_id.contains_key(&id) {
                    return Err(format!("the id {} is taken", Id(id)));
                }
                let new =
                    Instance { id, scale: 4096, age: 255, health: 255, z_m: f32::NAN, ..Instance::default() };
                let thing = self.with(new, looks)?;
                self.by_id.insert(id, self.all.len());
                self.all.push(Some((*at_m, thing)));
            }
        }
        Ok(())
    }

    fn find(&self, id: Id) -> Result<usize, String> {
        self.by_id.get(&id.0).copied().ok_or_else(|| format!("there is no thing with the id {id}"))
    }

    /// The first id of a place that no other thing has.
    fn free_id(&self, at_m: [f64; 2]) -> u64 {
        let cell = at_m.map(|m| (m * 1000.0).round() as i64);
        let mut ids = (0..=u32::MAX).map(|k| instances::id(Seed::from_text("added by hand"), cell, k));
        ids.find(|id| !self.by_id.contains_key(id)).unwrap_or_default()
    }

    fn with(&mut self, mut thing: Instance, looks: &Looks) -> Result<Instance, String> {
        let within = |name: &str, value: Option<f64>, low: f64, high: f64| match value {
            Some(value) if !(low..=high).contains(&value) => {
                Err(format!("{name}: {value} is outside {low} to {high}"))
            }
            value => Ok(value),
        };
        // Rounded to the nearest step; a full turn is none.
        let turn = |deg: f64, steps: f64| (deg / 360.0 * steps).round().rem_euclid(steps);
        if let Some(deg) = within("yaw_deg", looks.yaw_deg, -360.0, 360.0)? {
            thing.yaw = turn(deg, 65536.0) as u16;
        }
        if let Some(scale) = within("scale", looks.scale, 0.0, 15.999)? {
            thing.scale = (scale * 4096.0).round() as u16;
        }
        if let Some(deg) = within("tilt_deg", looks.tilt_deg, 0.0, 90.0)? {
            thing.tilt_deg = deg.round() as u8;
        }
        if let Some(deg) = within("tilt_to_deg", looks.tilt_to_deg, -360.0, 360.0)? {
            thing.tilt_to = turn(deg, 256.0) as u8;
        }
        if let Some(age) = within("age", looks.age, 0.0, 1.0)? {
            thing.age = (age * 255.0).round() as u8;
        }
        if let Some(health) = within("health", looks.health, 0.0, 1.0)? {
            thing.health = (health * 255.0).round() as u8;
        }
        if let Some(name) = &looks.species {
            let known = self.species.iter().position(|known| known == name);
            let number = known.unwrap_or(self.species.len());
            thing.species = u16::try_from(number).map_err(|_| String::from("there are too many species"))?;
            if known.is_none() {
                self.species.push(name.clone());
            }
        }
        Ok(thing)
    }
}

fn check_place(place: [f64; 2]) -> Result<(), String> {
    if instances::can_stand(place) {
        Ok(())
    } else {
        Err(format!("{}, {} is not a place in metres near the world's zero", place[0], place[1]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Instances {
        let thing = |id: u64| Instance { id, scale: 4096, health: 255, ..Instance::default() };
        let places = [([10.0, 20.0], 1), ([300.0, 20.0], 2), ([10.0, 600.0], u64::MAX)];
        Instances::new(vec![String::from("oak")], places.map(|(place, id)| (place, thing(id)))).unwrap()
    }

    fn edits(json: &str) -> Vec<Edit> {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn edits_are_made_in_order_and_unknown_ids_reported() {
        let list = edits(
            r#"[
                {"edit": "remove", "id": "0000000000000001"},
                {"edit": "move", "id": "0000000000000001", "to_m": [1, 2]},
                {"edit": "move", "id": "ffffffffffffffff", "to_m": [-5.5, 7.25]},
                {"edit": "change", "id": "0000000000000002", "looks": {"species": "pine", "yaw_deg": -90, "health": 0.5}},
                {"edit": "add", "at_m": [50, 60], "looks": {"species": "birch", "scale": 2}},
                {"edit": "add", "at_m": [50, 60], "looks": {"species": "birch"}},
                {"edit": "add", "at_m": [50, 60], "looks": {}},
                {"edit": "add", "id": "0000000000000002", "at_m": [50, 60], "looks": {"species": "oak"}},
                {"edit": "change", "id": "0000000000000002", "looks": {"tilt_deg": 95}}
            ]"#,
        );
        let (made, unmade) = apply(&three(), &list).unwrap();
        let said: Vec<String> = unmade.iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "edit 1: there is no thing with the id 0000000000000001",
                "edit 6: a new thing needs a species",
                "edit 7: the id 0000000000000002 is taken",
                "edit 8: tilt_deg: 95 is outside 0 to 90",
            ]
        );
        assert_eq!(made.species(), ["oak", "pine", "birch"]);
        let found: BTreeMap<u64, ([f64; 2], Instance)> =
            made.iter().map(|(place, thing)| (thing.id, (place, *thing))).collect();
        assert_eq!(found.len(), 4);
        assert_eq!(found[&u64::MAX].0, [-5.5, 7.25]);
        let (place, pine) = found[&2];
        assert_eq!((place, pine.species, pine.yaw, pine.health), ([300.0, 20.0], 1, 49152, 128));
        let added: Vec<_> = found.values().filter(|(_, thing)| thing.species == 2).collect();
        assert_eq!(added.len(), 2);
        assert!(added.iter().all(|(place, thing)| *place == [50.0, 60.0] && thing.health == 255));
        // The same edits of the same things give the same ids.
        assert_eq!(apply(&three(), &list).unwrap().0, made);
    }

    #[test]
    fn edits_survive_json_and_wrong_ids_are_refused() {
        let list = edits(r#"[{"edit": "add", "at_m": [1.5, 2], "looks": {"species": "oak", "age": 0.25}}]"#);
        assert_eq!(edits(&serde_json::to_string(&list).unwrap()), list);
        let wrong = |json: &str| serde_json::from_str::<Vec<Edit>>(json).unwrap_err().to_string();
        assert!(wrong(r#"[{"edit": "remove", "id": "12"}]"#).contains("\"12\" is not the id of a thing"));
        assert!(wrong(r#"[{"edit": "remove", "id": "+000000000000001"}]"#).contains("is not the id"));
        assert!(
            wrong(r#"[{"edit": "change", "id": "0000000000000001", "looks": {"sise": 2}}]"#).contains("sise")
        );
    }

    #[test]
    fn places_that_are_none_change_nothing() {
        let list =
            [Edit::Move { id: Id(1), to_m: [f64::NAN, 0.0] }, Edit::Move { id: Id(2), to_m: [1e300, 0.0] }];
        let (made, unmade) = apply(&three(), &list).unwrap();
        assert_eq!((made, unmade.len()), (three(), 2));
    }
}
