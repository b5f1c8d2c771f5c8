//! Holds nothing: a package of its own keeps the texts in `cases/` free of what other dependencies bring into scope.
