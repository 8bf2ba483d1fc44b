# ---- The tree ----

def uid_of(event):
    if isinstance(event, dict) and "UID" in event:
        return event["UID"]
    raise Fail("expected an event of the tree, found a %s" % type(event).__name__)


class Tree:
    """The call tree, fetched in parts as they are asked for.

    It answers both to the names of TraceLens's TraceToTree, whose users change events and lists in place, and to shorter
    ones of ours, whose edits are carried out at once. What was changed in place is found at the end, or before the next of
    our edits, by comparing events with what they were.
    """

    def __init__(self, count):
        self._count = count
        self._loaded = {}
        self._before = {}
        self._strings, self._signatures, self._subtree_backward = {}, {}, {}
        self._forget()

    def _forget(self):
        self._loaded.clear()
        self._before.clear()
        self._subtree_backward.clear()
        self._names_found = {}
        self._added = []
        self._wanted = 16
        self.events = Events(self)
        self.events_by_uid = ByUid(self)
        self._by_name = None
        self.seq_num2event_uids_map = SequenceNumbers(self)

    def _take(self, batch):
        """Adds a batch of events to those at hand."""
        self._strings.update((int(key), text) for key, text in batch["strings"].items())
        self._signatures.update((int(key), lists) for key, lists in batch["signatures"].items())
        for row in batch["events"]:
            if row[0] not in self._loaded:
                self._add(row)

    def _add(self, row):
        (uid, name, cat, pid, tid, ts, dur, signature, numbers, parent, children, gpu_events, backward, forward, own) = row
        args = {}
        if signature is not None:
            for key, value in zip(LISTS, self._signatures[signature]):
                if value is not None:
                    args[key] = value
        for key, number in zip(("Sequence number", "External id", "correlation", "device", "stream"), numbers):
            if number is not None:
                args[key] = number
        args.update(own)
        event = Event(ph="X", name=self._strings[name], cat=cat, pid=pid, tid=tid, ts=ts, dur=dur, args=args,
                      UID=uid)
        if parent is not None:
            event["parent"] = parent
        if children:
            event["children"] = children
        if gpu_events is not None:
            if gpu_events:
                event["gpu_events"] = gpu_events
            elif event["cat"] not in DEVICE_CATEGORIES:
                event["non_gpu_path"] = True
        if backward:
            event["bwd_events"] = backward
        if forward is not None:
            event["fwd_event"] = forward
        self._loaded[uid] = event
        self._before[uid] = (event["name"], tuple(children), tuple(backward), dict(args))

    def _named(self, name):
        if name not in self._names_found:
            self._names_found[name], batch = PIPE.ask("named", name)
            self._take(batch)
        return self._names_found[name]

    # -- The names of TraceToTree --

    @property
    def name2event_uids(self):
        if self._by_name is None:
            self._by_name = Names(self)
        return self._by_name

    def get_UID2event(self, uid):
        event = self._loaded.get(uid)
        if event is None:
            if not isinstance(uid, int) or not 0 <= uid < self._count:
                raise KeyError(uid)
            # Whoever walks on is given more each time.
            self._take(PIPE.ask("event", uid, self._wanted))
            self._wanted = min(2 * self._wanted, 4096)
            event = self._loaded[uid]
        return event

    def get_parent_event(self, event):
        parent = event.get("parent")
        return None if parent is None else self.get_UID2event(parent)

    def get_children_events(self, event):
        return [self.get_UID2event(uid) for uid in event.get("children") or []]

    def get_gpu_events(self, event):
        return [self.get_UID2event(uid) for uid in event.get("gpu_events") or []]

    def get_subtree_bwd_events(self, uid):
        if uid not in self._subtree_backward:
            found, batch = PIPE.ask("subtree_backward", uid)
            self._subtree_backward.update((int(key), uids) for key, uids in found.items())
            self._take(batch)
        return list(self._subtree_backward[uid])

    def link_bwd_events(self, uid):
        self.get_UID2event(uid)["bwd_events"] = self.get_subtree_bwd_events(uid)

    def label_non_gpu_paths(self):
        """The program does this after the file's rule, whatever it changed."""

    @property
    def cpu_root_nodes(self):
        return PIPE.ask("roots")[0]

    def __getattr__(self, name):
        known = [known for known in sorted({*dir(type(self)), *vars(self)}) if not known.startswith("_")]
        raise AttributeError("the tree has no %s; it has %s" % (name, ", ".join(known)))

    # -- Ours: questions --

    def _many(self, uids):
        return [self.get_UID2event(uid) for uid in uids]

    def _settle(self):
        """Has the program know the events that the file added in place, before it is asked for more."""
        if self._added:
            self._flush()

    def _ask_many(self, *question):
        self._settle()
        uids, batch = PIPE.ask(*question)
        self._take(batch)
        return self._many(uids)

    def events_by_name(self, name):
        self._settle()
        return self._many(self._named(name))

    def names(self):
        self._settle()
        return PIPE.ask("names")

    def roots(self):
        return self._ask_many("roots")

    def children(self, event):
        self._settle()
        return self.get_children_events(self._current(event))

    def descendants(self, event):
        return self._ask_many("descendants", uid_of(event))

    def ancestors(self, event):
        return self._ask_many("ancestors", uid_of(event))

    def gpu_events(self, event):
        self._settle()
        return self.get_gpu_events(self._current(event))

    def parent(self, event):
        self._settle()
        return self.get_parent_event(self._current(event))

    def launch(self, event):
        above = self.parent(event)
        if above is not None and above["cat"] in ("cuda_runtime", "cuda_driver") and event.get("cat") in DEVICE_CATEGORIES:
            return above
        return next(iter(self._ask_many("launch", uid_of(event))), None)

    def operator(self, event):
        return next(iter(self._ask_many("operator", uid_of(event))), None)

    def forward_event(self, event):
        return next(iter(self._ask_many("forward_event", uid_of(event))), None)

    def backward_events(self, event):
        self._settle()
        return self._many(self._current(event).get("bwd_events") or [])

    def backward_events_of_subtree(self, event):
        self._settle()
        return self._many(self.get_subtree_bwd_events(uid_of(event)))

    def _current(self, event):
        return self.get_UID2event(uid_of(event))

    # -- Ours: edits, which the program carries out in groups --

    def _edit(self, *edit):
        self._flush()
        done = PIPE.ask("edit", [edit])
        self._forget()
        self._count = done["count"]
        return done["inserted"]

    def _insert(self, position, event, name, given):
        wanted = {"donor": None, "sequence_number": None, "args": {}, "dims": None, "types": None, "strides": None,
                  "concrete": None}
        for key, value in given.items():
            if key not in wanted:
                raise Fail("there is no argument %r; there are %s" % (key, ", ".join(wanted)))
            if value is None:
                continue
            if key == "donor":
                value = uid_of(value)
            elif key == "args":
                value = {str(label): plain(item, "args[%r]" % label) for label, item in value.items()}
            elif key == "sequence_number":
                if not isinstance(value, int):
                    raise Fail("sequence_number must be a whole number, found a %s" % type(value).__name__)
            else:
                value = [plain(item, key) for item in value]
            wanted[key] = value
        [uid] = self._edit(position, uid_of(event), str(name), wanted)
        return Event(UID=uid, name=str(name), args={})

    def insert_above(self, event, name, **given):
        return self._insert("above", event, name, given)

    def isolate(self, gpu_event, name, **given):
        return self._insert("isolate", gpu_event, name, given)

    def wrap_children(self, event, name, **given):
        return self._insert("around_children", event, name, given)

    def rename(self, event, name):
        self._edit("rename", uid_of(event), str(name))

    def charge_with_subtree(self, operator):
        self._edit("charge", uid_of(operator))

    def link_backward(self, forward, backward):
        forward, backward = uid_of(forward), uid_of(backward)
        PIPE.ask("edit", [("link", forward, backward)])
        self._subtree_backward.clear()
        if forward in self._before:
            name, children, linked, args = self._before[forward]
            if backward not in linked:
                linked = tuple(sorted((*linked, backward)))
            self._before[forward] = (name, children, linked, args)
            self._loaded[forward]["bwd_events"] = list(linked)
        if backward in self._before:
            self._loaded[backward]["fwd_event"] = forward

    def set_arg(self, event, name, value):
        uid, checked = uid_of(event), plain(value, "an argument")
        if uid in self._before:
            self._loaded[uid]["args"][str(name)] = value
        else:
            PIPE.ask("edit", [("arg", uid, str(name), checked)])

    # -- What was changed in place --

    def _flush(self):
        """Carries out what was changed in place since the last time."""
        edits = [self._insertion(event) for event in self._added]
        adopted = {uid for event in self._added for uid in event.get("children") or []}
        for uid, (name, children, backward, args) in self._before.items():
            event = self._loaded[uid]
            if event["name"] != name:
                edits.append(("rename", uid, str(event["name"])))
            if event["args"] != args:
                for key, value in event["args"].items():
                    if key not in args or args[key] != value:
                        edits.append(("arg", uid, key, plain(value, "args[%r]" % key)))
            now = event.get("bwd_events") or ()
            if len(now) != len(backward) or tuple(now) != backward:
                edits += [("link", uid, other) for other in now if other not in backward]
            now = event.get("children") or ()
            if len(now) != len(children) or tuple(now) != children:
                lost = set(children).difference(now, adopted)
                if lost:
                    raise Fail("event %d (%s) was taken from event %d (%s), and no new event has it" % (
                        min(lost), self.get_UID2event(min(lost))["name"], uid, name))
        if edits:
            done = PIPE.ask("edit", edits)
            self._forget()
            self._count = done["count"]

    def _insertion(self, event):
        """A new event of the file as an insertion: around a device event's launch, or around the children that it took."""
        children, kernels = event.get("children") or [], event.get("gpu_events") or []
        args = dict(event.get("args") or {})
        lists = [args.pop(key, None) for key in LISTS]
        args = {key: plain(value, "args[%r]" % key) for key, value in args.items()
                if key not in ("Sequence number", "External id", "correlation", "Pseudo op")}
        given = {"donor": None, "sequence_number": (event.get("args") or {}).get("Sequence number"), "args": args}
        for key, value in zip(("dims", "types", "strides", "concrete"), lists):
            given[key] = None if value is None else plain(list(value), key)
        if len(kernels) == 1 and (not children or self._launches_alone(children, kernels[0])):
            return ("isolate", kernels[0], str(event["name"]), given)
        if not children:
            raise Fail("the new event %s has no children" % event["name"])
        return ("around", list(children), str(event["name"]), given)

    def _launches_alone(self, children, kernel):
        return len(children) == 1 and children[0] in (kernel, self.get_UID2event(kernel).get("parent"))


class Events:
    """All events by their position."""

    def __init__(self, tree):
        self.tree = tree

    def __len__(self):
        return self.tree._count + len(self.tree._added)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        if index < 0:
            index += len(self)
        tree = self.tree
        if index not in tree._loaded and index < tree._count:
            tree._take(tree_part(index))
        if index not in tree._loaded:
            raise IndexError("the tree has no event %d" % index)
        return tree._loaded[index]

    def append(self, event):
        tree = self.tree
        event.setdefault("UID", len(self))
        tree._added.append(event)
        tree._loaded[event["UID"]] = event


def tree_part(index):
    return PIPE.ask("range", index)


class ByUid:
    """Events by their number."""

    def __init__(self, tree):
        self.tree = tree

    def __getitem__(self, uid):
        return self.tree.get_UID2event(uid)

    def __setitem__(self, uid, event):
        self.tree._loaded[uid] = event

    def __contains__(self, uid):
        return uid in self.tree._loaded or isinstance(uid, int) and 0 <= uid < self.tree._count

    def get(self, uid, default=None):
        return self[uid] if uid in self else default


class Names(dict):
    """Numbers of events by name; fetched by name."""

    def __init__(self, tree):
        super().__init__((name, None) for name in PIPE.ask("names"))
        self.tree = tree

    def __getitem__(self, name):
        found = super().__getitem__(name)
        if found is None:
            found = self[name] = list(self.tree._named(name))
        return found

    def get(self, name, default=None):
        return self[name] if name in self else default

    def items(self):
        return [(name, self[name]) for name in self]

    def values(self):
        return [self[name] for name in self]


class SequenceNumbers(dict):
    """Numbers of events by the sequence number of autograd; a question brings the numbers after it as well."""

    def __init__(self, tree):
        self.tree = tree

    def __missing__(self, number):
        found = PIPE.ask("sequence_numbers", number) if isinstance(number, int) else {}
        for key, uids in found.items():
            self.setdefault(int(key), uids)
        return self.setdefault(number, [])

    def get(self, number, default=None):
        return self[number] or default


