# ---- The tree ----

def uid_of(event):
    if isinstance(event, dict) and "UID" in event:
        return event["UID"]
    raise Fail("expected an event of the tree, found a %s" % type(event).__name__)


def is_device(event):
    return event.get("cat") in DEVICE_CATEGORIES


class Columns:
    """What the program knows of all events, a column at a time, fetched when first asked for."""

    def __getattr__(self, name):
        column = PIPE.ask("column", name)
        setattr(self, name, column)
        return column


# In columns: no event, no number, and the kinds of events.
NONE, NO_NUMBER = -1, -1 << 63
HOST, DEVICE, INSERTED = 1, 2, 3
NUMBERS = (("Sequence number", "sequence_number"), ("External id", "external_id"), ("correlation", "correlation"),
           ("device", "device"), ("stream", "stream"))


class Recorded(dict):
    """Events by number, those that were recorded made when they are asked for."""

    def __init__(self, count, values):
        self.count, self.values = count, values

    def __missing__(self, uid):
        if not isinstance(uid, int) or not 0 <= uid < self.count:
            raise KeyError(uid)
        event = self[uid] = Event(UID=uid)
        event.source = self.values
        return event


class Tree:
    """The call tree, as the file sees and changes it.

    It answers both to the names of TraceLens's TraceToTree, whose users change events and lists in place, and to shorter
    ones of ours. Both change the events here. `edits` finds at the end what is different from the columns.
    """

    def __init__(self, count):
        self._count = count
        columns = self._columns = Columns()
        self._signatures, self._links, self._roots, self._replaced = {}, None, None, {}
        self._by_name = self._by_number = None
        self.events = Events(self)
        self.events_by_uid = ByUid(self)
        values = {
            "ph": lambda uid: "X",
            "name": lambda uid: columns.names[columns.name[uid]],
            "cat": lambda uid: columns.categories[columns.category[uid]],
            "pid": lambda uid: columns.tracks[columns.track[uid]][0],
            "tid": lambda uid: columns.tracks[columns.track[uid]][1],
            "ts": lambda uid: columns.start[uid],
            "dur": lambda uid: columns.duration[uid],
            "parent": lambda uid: self._one(columns.parent[uid]),
            "children": lambda uid: self._children(uid) or ABSENT,
            "gpu_events": lambda uid: self._gpu_events(uid) or ABSENT,
            "non_gpu_path": lambda uid: ABSENT if columns.kind[uid] == DEVICE or self._gpu_events(uid) else True,
            "bwd_events": lambda uid: list(self._backward.get(uid, ())) or ABSENT,
            "fwd_event": lambda uid: self._one(columns.forward[uid]),
            "args": self._args,
        }
        self._events, self._added, self._inserted, self._charged = Recorded(count, values), [], {}, []

    # -- Values of recorded events --

    @staticmethod
    def _one(uid):
        return ABSENT if uid < 0 else uid

    def _children(self, uid):
        at = self._columns.children_at
        return self._columns.children[at[uid]:at[uid + 1]].tolist()

    def _gpu_events(self, uid):
        found = self._columns.gpu_events[self._columns.gpu_events_from[uid]:self._columns.gpu_events_to[uid]].tolist()
        return self._by_start(found) if len(found) > 1 else found

    def _by_start(self, uids):
        return sorted(sorted(uids), key=self._columns.start.__getitem__)

    @property
    def _backward(self):
        """Numbers of backwards by the number of their forward."""
        if self._links is None:
            self._links = {}
            for uid, forward in enumerate(self._columns.forward):
                if forward >= 0:
                    self._links.setdefault(forward, []).append(uid)
        return self._links

    def _args(self, uid):
        numbers = [(key, getattr(self._columns, column)) for key, column in NUMBERS]
        numbers = [(key, column) for key, column in numbers if max(column) != NO_NUMBER]
        own = {int(key): own for key, own in self._columns.own_args.items()}
        signatures, lists = self._columns.signature, self._signatures

        def args_of(uid):
            signature = signatures[uid]
            args = {} if signature < 0 else dict(lists.get(signature) or self._signature(signature))
            for key, column in numbers:
                number = column[uid]
                if number != NO_NUMBER:
                    args[key] = number
            if uid in own:
                args.update(own[uid])
            return args

        self._events.values["args"] = args_of
        return args_of(uid)

    def _signature(self, number):
        """The argument lists of calls; those of many are fetched at once."""
        if number not in self._signatures:
            for at, lists in enumerate(PIPE.ask("signatures", number), number):
                self._signatures[at] = {key: value for key, value in zip(LISTS, lists) if value is not None}
        return self._signatures[number]

    def _label(self, event):
        """An event in a message, by its number in the recording, as all messages name events."""
        uid = event["UID"]
        return "event %d (%s)" % (self._columns.uid[uid] if uid < self._count else uid, event["name"])

    # -- The names of TraceToTree --

    @property
    def name2event_uids(self):
        if self._by_name is None:
            self._by_name = Names(self._columns)
        return self._by_name

    @property
    def seq_num2event_uids_map(self):
        if self._by_number is None:
            self._by_number = collections.defaultdict(list)
            for uid, number in enumerate(self._columns.sequence_number):
                if number != NO_NUMBER:
                    self._by_number[number].append(uid)
        return self._by_number

    @property
    def cpu_root_nodes(self):
        if self._roots is None:
            self._roots = self._columns.roots.tolist()
        return self._roots

    def get_UID2event(self, uid):
        return self._events[uid]

    def get_parent_event(self, event):
        parent = event.get("parent")
        return None if parent is None else self.get_UID2event(parent)

    def get_children_events(self, event):
        return self._many(event.get("children") or ())

    def get_gpu_events(self, event):
        return self._many(event.get("gpu_events") or ())

    def get_subtree_bwd_events(self, uid):
        found, below = set(), [uid]
        while below:
            at = below.pop()
            event = self._events.get(at)
            if event is None:
                found.update(self._backward.get(at, ()))
                below += self._children(at)
            else:
                found.update(event.get("bwd_events") or ())
                below += event.get("children") or ()
        return sorted(found)

    def link_bwd_events(self, uid):
        self.get_UID2event(uid)["bwd_events"] = self.get_subtree_bwd_events(uid)

    def label_non_gpu_paths(self):
        """The program does this after the file's pass, whatever that changed."""

    def __getattr__(self, name):
        known = [known for known in sorted({*dir(type(self)), *vars(self)}) if not known.startswith("_")]
        raise AttributeError("the tree has no %s; it has %s" % (name, ", ".join(known)))

    # -- Ours: questions --

    def _many(self, uids):
        return list(map(self._events.__getitem__, uids))

    def _current(self, event):
        """The event of the tree with the number of this one."""
        try:
            return self.get_UID2event(uid_of(event))
        except KeyError as error:
            raise Fail("the tree has no event %s" % error)

    def events_by_name(self, name):
        return self._many(self.name2event_uids.get(name, ()))

    def names(self):
        return self.name2event_uids.used()

    def roots(self):
        return self._many(self.cpu_root_nodes)

    def children(self, event):
        return self.get_children_events(self._current(event))

    def parent(self, event):
        return self.get_parent_event(self._current(event))

    def descendants(self, event):
        found, below = [], self.children(event)[::-1]
        while below:
            found.append(below.pop())
            below += self.get_children_events(found[-1])[::-1]
        return found

    def ancestors(self, event):
        found, above = [], self.parent(event)
        while above is not None:
            found.append(above)
            above = self.get_parent_event(above)
        return found

    def gpu_events(self, event):
        return self.get_gpu_events(self._current(event))

    def launch(self, event):
        uid = self._current(event)["UID"]
        launch = self._columns.launch[uid] if uid < self._count else NONE
        return None if launch == NONE else self.get_UID2event(launch)

    def operator(self, event):
        return next((above for above in self.ancestors(event) if above["cat"] == "cpu_op"), None)

    def forward_event(self, event):
        forward = self._current(event).get("fwd_event")
        return None if forward is None else self.get_UID2event(forward)

    def backward_events(self, event):
        return self._many(self._current(event).get("bwd_events") or ())

    def backward_events_of_subtree(self, event):
        return self._many(self.get_subtree_bwd_events(self._current(event)["UID"]))

    # -- Ours: edits --

    def _host(self, event):
        event = self._current(event)
        if event["UID"] < self._count and self._columns.kind[event["UID"]] not in (HOST, INSERTED):
            raise Fail("%s is not a host event of the tree" % self._label(event))
        return event

    def _insert(self, kind, at, above, children, name, given):
        """A new event between one above and some of its children; returned as it now is in the tree."""
        uid, events = self._count + len(self._added), self._events
        event = Event(UID=uid, ph="X", name=str(name), cat="cpu_op", children=children)
        event.source = self._inserted[uid] = Insertion(self, event, kind, at, above, given)
        if above is not None:
            event["parent"] = above
        for child in children:
            events[child]["parent"] = uid
        self._added.append(event)
        events[uid] = event
        self.name2event_uids[event["name"]].append(uid)
        return event

    def _replace(self, above, child, other):
        """Puts a child in place of another. The next search goes on from here, as loops over children do."""
        children = self.cpu_root_nodes if above is None else self.get_UID2event(above)["children"]
        try:
            at = children.index(child, self._replaced.get(above, 0))
        except ValueError:
            at = children.index(child)
        children[at] = other
        self._replaced[above] = at

    def insert_above(self, event, name, **given):
        event = self._host(event)
        above = event.get("parent")
        inserted = self._insert("around", event, above, [event["UID"]], name, given)
        self._replace(above, event["UID"], inserted["UID"])
        return inserted

    def wrap_children(self, event, name, **given):
        event = self._host(event)
        children = self.get_children_events(event)
        inside = [child["UID"] for child in children if not is_device(child)]
        if not inside:
            raise Fail("%s has no host children to wrap" % self._label(event))
        inserted = self._insert("wrap", event, event["UID"], inside, name, given)
        event["children"] = [inserted["UID"]] + [child["UID"] for child in children if is_device(child)]
        return inserted

    def isolate(self, gpu_event, name, **given):
        kernel = self._current(gpu_event)
        launch = self.launch(kernel)
        if launch is None:
            raise Fail("%s is not a device event with a launch in the tree" % self._label(kernel))
        uid, parent = kernel["UID"], kernel["parent"]
        if parent == launch["UID"] and len(self._gpu_events(parent)) > 1:
            # The other device events of the launch stay with it; the new operator stands beside.
            above = launch.get("parent")
            inserted = self._insert("isolate", kernel, above, [uid], name, given)
            for key in ("children", "gpu_events"):
                launch[key] = [other for other in launch[key] if other != uid]
            siblings = self.cpu_root_nodes if above is None else self.get_UID2event(above)["children"]
            siblings.append(inserted["UID"])
            return inserted
        inside = launch if parent == launch["UID"] else kernel
        above = inside.get("parent")
        inserted = self._insert("isolate", kernel, above, [inside["UID"]], name, given)
        self._replace(above, inside["UID"], inserted["UID"])
        return inserted

    def rename(self, event, name):
        event, name = self._current(event), str(name)
        self.name2event_uids.move(event["UID"], event["name"], name)
        event["name"] = name

    def charge_with_subtree(self, operator):
        operator = self._current(operator)
        uid = operator["UID"]
        if uid < self._count and self._columns.kind[uid] != INSERTED:
            label = self._label(operator)
            raise Fail("%s was recorded; only inserted operators can own their subtree's launches" % label)
        self._charged.append(("charge", uid))

    def link_backward(self, forward, backward):
        forward, backward = self._host(forward), self._host(backward)
        if forward is backward:
            raise Fail("%s cannot be its own backward" % self._label(backward))
        linked = self.forward_event(backward)
        if linked is not None and linked is not forward:
            raise Fail("%s is already the backward of %s" % (self._label(backward), self._label(linked)))
        forward["bwd_events"] = sorted({*(forward.get("bwd_events") or ()), backward["UID"]})
        backward["fwd_event"] = forward["UID"]

    def set_arg(self, event, name, value):
        plain(value, "an argument")
        self._current(event)["args"][str(name)] = value

    # -- What is different at the end --

    def edits(self):
        """What the file did, for the program."""
        edits = [self._insertion(event) for event in self._from_inside()]
        adopted = {uid for event in self._added for uid in event.get("children") or ()}
        for uid, event in self._events.items():
            if CHANGEABLE.isdisjoint(dict.keys(event)):
                continue
            is_recorded, held = uid < self._count, dict.get
            name = held(event, "name")
            if is_recorded and name is not None and name != self._columns.names[self._columns.name[uid]]:
                edits.append(("rename", uid, str(name)))
            args, recorded = held(event, "args"), getattr(event, "recorded", None)
            if recorded is not None and args != recorded:
                edits += [("arg", uid, key, plain(value, "args[%r]" % key)) for key, value in args.items()
                          if key not in recorded or recorded[key] != value]
            backward = held(event, "bwd_events")
            if backward:
                linked = self._backward.get(uid, ())
                edits += [("link", uid, other) for other in backward if other not in linked]
            children = held(event, "children")
            if is_recorded and children is not None:
                before = self._children(uid)
                lost = () if before == children else set(before).difference(children)
                lost = [child for child in lost if child not in adopted]
                if lost:
                    raise Fail("%s was taken from %s, and no new event has it" % (
                        self._label(self.get_UID2event(min(lost))), self._label(event)))
        return edits + self._charged

    def _from_inside(self):
        """The new events, each after those that it has as children."""
        placed, opened, waiting = set(), set(), self._added[::-1]
        while waiting:
            event = waiting[-1]
            uid = event["UID"]
            inside = [child for child in event.get("children") or () if child >= self._count and child not in placed]
            if inside and uid not in opened:
                opened.add(uid)
                waiting += self._many(inside)
                continue
            waiting.pop()
            if uid not in placed:
                placed.add(uid)
                yield event

    def _insertion(self, event):
        """How the program inserts a new event: around a device event's launch, or around the children that it has."""
        uid, name, children = event["UID"], str(event["name"]), list(event.get("children") or ())
        insertion = self._inserted.get(uid)
        if insertion is not None:
            at = {"around": children, "wrap": insertion.above, "isolate": insertion.at["UID"]}[insertion.kind]
            return insertion.kind, uid, name, at, insertion.plain
        args = dict(event.get("args") or {})
        given = {key: plain(list(args.pop(of_event)), key) for key, of_event in zip(GIVEN_LISTS, LISTS)
                 if args.get(of_event) is not None}
        given["sequence_number"] = args.pop("Sequence number", None)
        given["args"] = {key: plain(value, "args[%r]" % key) for key, value in args.items()
                         if key not in ("External id", "correlation", "Pseudo op")}
        kernels = event.get("gpu_events") or ()
        if len(kernels) == 1 and (not children or children[0] in (kernels[0], self._columns.parent[kernels[0]])
                                  and len(children) == 1):
            return "isolate", uid, name, kernels[0], given
        if not children:
            raise Fail("the new event %s has no children" % name)
        return "around", uid, name, children, given


CHANGEABLE = frozenset(["name", "args", "bwd_events", "children"])
GIVEN_LISTS = ("dims", "types", "strides", "concrete")


class Insertion:
    """What one of our edits inserts: where, and what it was given. It is the source of the new event's values."""

    def __init__(self, tree, event, kind, at, above, given):
        self.tree, self.event, self.kind, self.at, self.above = tree, event, kind, at, above
        self.given, self.plain, self.donor = {}, {}, above
        if given:
            self.take(given)
        # Of a donor that the program does not know yet, it is told the arguments.
        while self.donor is not None and self.donor in tree._inserted:
            other = tree._inserted[self.donor]
            self.given = {**other.given, **self.given, "args": self.given.get("args", {})}
            self.plain = {**other.plain, **self.plain, "args": self.plain.get("args", {})}
            self.donor = other.donor
        if self.donor is not None:
            self.plain["donor"] = self.donor

    def take(self, given):
        """What the file gives, checked."""
        known = ("donor", "sequence_number", "args", *GIVEN_LISTS)
        for key, value in given.items():
            if key not in known:
                raise Fail("there is no argument %r; choose one of %s" % (key, ", ".join(known)))
            if value is None:
                continue
            if key == "donor":
                self.donor = self.tree._current(value)["UID"]
                continue
            if key == "sequence_number":
                if not isinstance(value, int):
                    raise Fail("sequence_number must be a whole number, found a %s" % type(value).__name__)
                checked = value
            elif key == "args":
                checked = {str(label): plain(item, "args[%r]" % label) for label, item in value.items()}
            else:
                checked = [plain(item, key) for item in value]
            self.given[key], self.plain[key] = value, checked

    def get(self, key):
        """How a value of the new event is found."""
        if key in ("pid", "tid", "ts", "dur"):
            like = self.tree.launch(self.at) if self.kind == "isolate" else self.at
            return lambda uid: like.get(key, ABSENT)
        return {"gpu_events": self.gpu_events, "args": self.args}.get(key)

    def gpu_events(self, uid):
        inside = self.tree._many(self.event["children"])
        found = [uid for child in inside
                 for uid in ((child["UID"],) if is_device(child) else child.get("gpu_events") or ())]
        return self.tree._by_start(found) or ABSENT

    def args(self, uid):
        donated = {} if self.donor is None else self.tree.get_UID2event(self.donor)["args"]
        args = {key: donated[key] for key in (*LISTS, "Sequence number") if key in donated}
        args.update((of_event, list(self.given[key])) for key, of_event in zip(GIVEN_LISTS, LISTS) if key in self.given)
        if "sequence_number" in self.given:
            args["Sequence number"] = self.given["sequence_number"]
        if self.kind == "isolate" and "correlation" in self.at["args"]:
            args["External id"] = self.at["args"]["correlation"]
        args.update(self.given.get("args", {}))
        return args


class Events:
    """All events by their position."""

    def __init__(self, tree):
        self.tree = tree

    def __len__(self):
        return self.tree._count + len(self.tree._added)

    def __iter__(self):
        return map(self.tree._events.__getitem__, range(len(self)))

    def __getitem__(self, index):
        positions = range(len(self))[index]
        return self.tree._many(positions) if isinstance(positions, range) else self.tree._events[positions]

    def append(self, event):
        tree = self.tree
        if "UID" not in event:
            event["UID"] = len(self)
        if event["UID"] != len(self):
            raise Fail("the next new event must have the UID %d, found %r" % (len(self), event["UID"]))
        tree._events[len(self)] = event
        tree._added.append(event)


class ByUid:
    """Events by their number."""

    def __init__(self, tree):
        self.tree = tree

    def __getitem__(self, uid):
        return self.tree.get_UID2event(uid)

    def __setitem__(self, uid, event):
        self.tree._events[uid] = event

    def __contains__(self, uid):
        return uid in self.tree._events or isinstance(uid, int) and 0 <= uid < self.tree._count

    def get(self, uid, default=None):
        return self[uid] if uid in self else default


class Names(dict):
    """Numbers of events by name; a list is made when it is asked for, until then there is the name's number."""

    def __init__(self, columns):
        at = self.at = columns.named_at
        self.named = columns.named
        super().__init__((name, number) for number, name in enumerate(columns.names) if at[number] != at[number + 1])

    def __getitem__(self, name):
        found = dict.get(self, name)
        if type(found) is int:
            found = self.named[self.at[found]:self.at[found + 1]].tolist()
        self[name] = found = [] if found is None else found
        return found

    def get(self, name, default=None):
        return self[name] if name in self else default

    def items(self):
        return [(name, self[name]) for name in self]

    def values(self):
        return [self[name] for name in self]

    def used(self):
        """The names of events that are there."""
        return [name for name in self if dict.__getitem__(self, name) != []]

    def add(self, uid, name):
        """Lists an event, once."""
        uids = self[name]
        at = bisect.bisect_left(uids, uid)
        if at == len(uids) or uids[at] != uid:
            uids.insert(at, uid)

    def move(self, uid, name, other):
        uids = self[name]
        at = bisect.bisect_left(uids, uid)
        if at < len(uids) and uids[at] == uid:
            del uids[at]
        self.add(uid, other)


