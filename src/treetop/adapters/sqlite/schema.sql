-- A party's reports and journal, or a server's journal. Rows with a seal are read through it (relational/tables.py).
-- Slots are one integer: the number of a task (or of a collection) in the high bits, the serial number in the low 40.
CREATE TABLE store (
    number INTEGER PRIMARY KEY, identity BLOB NOT NULL, owner TEXT NOT NULL, commits INTEGER NOT NULL,
    tasks INTEGER NOT NULL, groups INTEGER NOT NULL, books INTEGER NOT NULL, seal BLOB NOT NULL
) STRICT;
CREATE TABLE task (
    number INTEGER PRIMARY KEY, digest BLOB NOT NULL, document BLOB NOT NULL, tickets INTEGER NOT NULL,
    groups INTEGER NOT NULL, enrolled INTEGER NOT NULL, serials BLOB NOT NULL, enrolment BLOB NOT NULL,
    forgotten INTEGER NOT NULL, seal BLOB NOT NULL
) STRICT;
CREATE TABLE document (task INTEGER PRIMARY KEY, content BLOB NOT NULL) STRICT;
CREATE TABLE collection (
    number INTEGER PRIMARY KEY, task INTEGER NOT NULL, level INTEGER NOT NULL, role INTEGER NOT NULL,
    reports INTEGER NOT NULL, checks BLOB NOT NULL, secret BLOB NOT NULL, state INTEGER NOT NULL, seal BLOB NOT NULL
) STRICT;
CREATE INDEX collection_of_task ON collection (task);
-- Which tickets were used, by task: this is what makes a report count once.
CREATE TABLE spent (slot INTEGER PRIMARY KEY, mark BLOB NOT NULL) STRICT;
-- What the devices sent, by collection, until it is exported; here the low 40 bits count the reports of the collection,
-- so that new ones lie together on the disk.
CREATE TABLE body (slot INTEGER PRIMARY KEY, serial INTEGER NOT NULL, content BLOB NOT NULL) STRICT;
CREATE TABLE enrolled (slot INTEGER PRIMARY KEY) STRICT;
CREATE TABLE book (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL, entries INTEGER NOT NULL, head BLOB NOT NULL, seal BLOB NOT NULL
) STRICT;
CREATE TABLE entry (
    book INTEGER NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL, content BLOB NOT NULL,
    PRIMARY KEY (book, number)
) STRICT, WITHOUT ROWID;
