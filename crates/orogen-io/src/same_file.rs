//! Whether two paths lead to one file.

use std::path::Path;

/// Whether two paths lead to one file, by whatever way: `./`, symbolic links, hard links. `false` when either is not there.
#[must_use]
pub fn same_file(a: &Path, b: &Path) -> bool {
    if let (Ok(a), Ok(b)) = (a.canonicalize(), b.canonicalize())
        && a == b
    {
        return true;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let id = |path: &Path| std::fs::metadata(path).ok().map(|about| (about.dev(), about.ino()));
        id(a).is_some() && id(a) == id(b)
    }
    #[cfg(not(unix))]
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_is_known_by_every_way_to_it() {
        let home = tempfile::tempdir().unwrap();
        let [a, b] = ["a.tif", "b.tif"].map(|name| home.path().join(name));
        std::fs::write(&a, "a").unwrap();
        std::fs::write(&b, "a").unwrap();
        std::fs::create_dir(home.path().join("deep")).unwrap();
        assert!(!same_file(&a, &b));
        assert!(!same_file(&a, &home.path().join("missing.tif")));
        assert!(!same_file(&home.path().join("missing.tif"), &home.path().join("missing.tif")));
        for other in ["./a.tif", "deep/../a.tif"] {
            assert!(same_file(&a, &home.path().join(other)), "{other}");
        }
        let hard = home.path().join("hard.tif");
        std::fs::hard_link(&a, &hard).unwrap();
        assert_eq!(same_file(&a, &hard), cfg!(unix));
        #[cfg(unix)]
        {
            let (link, by_folder) = (home.path().join("link.tif"), home.path().join("way"));
            std::os::unix::fs::symlink(&a, &link).unwrap();
            std::os::unix::fs::symlink(home.path(), &by_folder).unwrap();
            assert!(same_file(&a, &link) && same_file(&link, &by_folder.join("hard.tif")));
        }
    }
}
