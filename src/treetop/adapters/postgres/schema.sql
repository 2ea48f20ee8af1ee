-- A party's reports and journal, in the first schema of the connection's search path.
-- Rows with a seal are read through it (relational/tables.py). Slots are one integer: the number of a task (or of a
-- collection) in the high bits, the serial number in the low 40.
CREATE TABLE store (
    number bigint PRIMARY KEY, identity bytea NOT NULL, owner text NOT NULL, commits bigint NOT NULL,
    tasks bigint NOT NULL, groups bigint NOT NULL, books bigint NOT NULL, seal bytea NOT NULL
);
CREATE TABLE task (
    number bigint PRIMARY KEY, digest bytea NOT NULL UNIQUE, document bytea NOT NULL, tickets bigint NOT NULL,
    groups bigint NOT NULL, enrolled bigint NOT NULL, serials bytea NOT NULL, enrolment bytea NOT NULL,
    forgotten bigint NOT NULL, seal bytea NOT NULL
);
CREATE TABLE document (task bigint PRIMARY KEY REFERENCES task, content bytea NOT NULL);
CREATE TABLE collection (
    number bigint PRIMARY KEY, task bigint NOT NULL REFERENCES task, level bigint NOT NULL, role bigint NOT NULL,
    reports bigint NOT NULL, checks bytea NOT NULL, secret bytea NOT NULL, state bigint NOT NULL, seal bytea NOT NULL,
    UNIQUE (task, level, role)
);
-- Which tickets were used, by task: this is what makes a report count once.
CREATE TABLE spent (slot bigint PRIMARY KEY, mark bytea NOT NULL);
-- What the devices sent, by collection, until it is exported. Several processes may add bodies at once: here the low 40
-- bits of a slot come from one sequence for all collections.
CREATE TABLE body (slot bigint PRIMARY KEY, serial bigint NOT NULL, content bytea NOT NULL);
CREATE SEQUENCE place MINVALUE 0 MAXVALUE 1099511627775;
CREATE TABLE enrolled (slot bigint PRIMARY KEY);
CREATE TABLE book (
    number bigint PRIMARY KEY, name text NOT NULL UNIQUE, entries bigint NOT NULL, head bytea NOT NULL,
    seal bytea NOT NULL
);
CREATE TABLE entry (
    book bigint NOT NULL REFERENCES book, number bigint NOT NULL, name text NOT NULL, content bytea NOT NULL,
    PRIMARY KEY (book, number), UNIQUE (book, name)
);
CREATE TABLE treetop_schema (version bigint NOT NULL);
INSERT INTO treetop_schema VALUES (4);
