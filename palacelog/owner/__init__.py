"""One process per palace: many sessions, one model and one index.

`owner.process` has the palace open; `owner.pipe` is what stays in each session. They meet at a
socket in the palace's folder, in the frames of `owner.frames`.
"""
