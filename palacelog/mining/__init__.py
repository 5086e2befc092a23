"""Mining: the texts of a folder, filed in a local wing by a job."""
