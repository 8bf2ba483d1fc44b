# ---- The user's file ----

MODELS = "perf_model_extension"
CATEGORIES = "op_category_extension"
SHEETS = "dict_cat2names_extension"
RULE = "tree_postprocess_extension"
TABLES = "get_additional_dataframes_extension"
MEMBERS = (MODELS, CATEGORIES, SHEETS, RULE, TABLES)


class File:
    """The user's file, run."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        SOURCES[path] = text
        module = types.ModuleType("tracelens_extension")
        module.__file__ = path
        sys.modules["tracelens_extension"] = module
        sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
        exec(compile(text, path, "exec"), vars(module))
        self.members = vars(module)

    def line_of(self, member):
        """The last line that assigns or defines a member."""
        found = None
        for number, line in enumerate(self.text.splitlines(), 1):
            line = line[4:] if line.startswith("def ") else line
            if line.startswith(member) and line[len(member):].lstrip().startswith(("=", "(", ":")):
                found = number
        return found

    def wrong(self, member, expected, found):
        error = Fail("%s must be %s, found %s" % (member, expected, found))
        error.line = self.line_of(member)
        return error

    def table(self, member, expected, read):
        table = self.members.get(member)
        if table is None:
            return {}
        if not isinstance(table, dict):
            raise self.wrong(member, expected, "a %s" % type(table).__name__)
        for name, value in table.items():
            if not isinstance(name, str):
                raise self.wrong(member, expected, "the key %r" % (name,))
            if not read(value):
                raise self.wrong(member, expected, "a %s for %s" % (type(value).__name__, name))
        return table

    def registered(self):
        """What the file registers, for the program."""
        def is_model(value):
            return callable(value) and (not isinstance(value, type) or isinstance(getattr(value, "category", None), str))

        self.models = dict(REGISTERED)
        self.models.update(self.table(
            MODELS, "a dict from operator name to function, or to class with a category", is_model))
        for name, value in REGISTERED.items():
            if not isinstance(name, str) or not is_model(value):
                raise Fail("op_to_perf_model_class_map[%r] must be a class with a category" % (name,))
        categories = self.table(
            CATEGORIES, "a dict from operator name to category", lambda value: isinstance(value, str))
        lists = self.table(
            SHEETS, "a dict from sheet to list of operator names",
            lambda value: isinstance(value, (list, tuple, set)) and all(isinstance(name, str) for name in value))
        sheets = {}
        for sheet, operators in lists.items():
            for operator in operators:
                sheets.setdefault(operator, []).append(sheet)
        self.rule, self.tables = self.members.get(RULE), self.members.get(TABLES)
        for member, function in ((RULE, self.rule), (TABLES, self.tables)):
            if function is not None and not callable(function):
                raise self.wrong(member, "a function of the tree", "a %s" % type(function).__name__)
        without = []
        for member in self.members:
            if member.endswith(("_extension", "_extensions")) and member not in MEMBERS:
                if not callable(self.members[member]):
                    without.append([member, self.line_of(member), "a file may define %s" % ", ".join(MEMBERS)])
        return {"models": list(self.models), "categories": categories, "sheets": sheets, "rule": self.rule is not None,
                "tables": self.tables is not None, "without_effect": without}

    def answer(self, call):
        """What the file says of a call."""
        entry, event = self.models[call["name"]], call_event(call)
        if isinstance(entry, type):
            return class_answer(entry, entry(event))
        answer = entry(event)
        if answer is None:
            return {"none": True}
        if isinstance(answer, Answer):
            return answer
        if hasattr(answer, "flops") and isinstance(getattr(answer, "category", None), str):
            return class_answer(type(answer), answer)
        raise Fail("the function for %s must return model(…), work(…) or None, found a %s" % (
            call["name"], type(answer).__name__))


def class_answer(kind, instance):
    """The figures of a class in the manner of TraceLens."""
    backward = []
    for figure in (getattr(instance, name, None) for name in ("flops_bwd", "bytes_bwd")):
        try:
            backward.append(plain(figure(), "the figure") if figure else None)
        except Exception:  # a class without a backward says so by raising anything
            backward.append(None)
    unit, precision = None, None
    if hasattr(instance, "get_maf_type"):
        unit = instance.get_maf_type()
    if hasattr(instance, "get_compute_precision"):
        precision = instance.get_compute_precision()
    params = getattr(instance, "param_details", None) or {}
    sheet = getattr(kind, "sheet_category", None) or kind.category
    for suffix in ("_fwd", "_bwd"):
        if sheet.endswith(suffix):
            sheet = sheet[:-len(suffix)]
    return {
        "category": kind.category, "sheet": sheet, "flops": plain(instance.flops(), "flops"),
        "bytes": plain(instance.bytes(), "bytes"), "backward_flops": backward[0], "backward_bytes": backward[1],
        "spec": "%s_%s" % (unit, precision) if unit and precision else None, "line": None,
        "params": [[str(name), shown(value)] for name, value in params.items()],
    }


def tables(found):
    """Tables by name, each as headers with their cells."""
    if not isinstance(found, dict):
        raise Fail("%s must return a dict from name to table, found a %s" % (TABLES, type(found).__name__))
    return [[str(name), columns_of(name, table)] for name, table in found.items()]


def columns_of(name, table):
    """The columns of a list of dicts, of a dict of lists, or of a data frame."""
    if hasattr(table, "to_dict"):
        try:
            table = table.to_dict("list")
        except TypeError:  # as polars has it
            table = table.to_dict(as_series=False)
    if isinstance(table, (list, tuple)) and all(isinstance(row, dict) for row in table):
        headers = dict.fromkeys(header for row in table for header in row)
        table = {header: [row.get(header) for row in table] for header in headers}
    if not isinstance(table, dict):
        raise Fail("the table %s must be a list of dicts, a dict of lists or a data frame, found a %s" % (
            name, type(table).__name__))
    return [[str(header), [shown(cell) for cell in cells]] for header, cells in table.items()]


def shown(value):
    """A parameter, as a text where it is nothing that reports know."""
    try:
        return plain(value, "a parameter")
    except (TypeError, ValueError):
        return str(value)


# ---- The program's requests ----

def memory_limits(limit):
    """Two actions: to have the operating system refuse more memory than this, and to have room for a last message."""
    try:
        import resource
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    except (ImportError, ValueError, OSError):  # Windows, and systems without this limit
        return lambda: None, lambda: None
    return (lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, hard)),
            lambda: resource.setrlimit(resource.RLIMIT_AS, (hard, hard)))


def end_with_parent():
    """Ends the process when the program is gone, whatever the user's file does then."""
    parent = os.getppid()

    def watch():
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def main(memory, seconds):
    global PIPE
    PIPE = Pipe()
    printed = sys.stdout = sys.stderr = Printed(PIPE)
    sys.meta_path.insert(0, Modules())
    end_with_parent()
    limit, room = memory_limits(memory)
    # A pass makes many events, none of which is garbage.
    gc.set_threshold(100_000, 50, 100)
    file = path = None

    def guarded(action, *arguments):
        """What the action answers, or what went wrong in it."""
        try:
            return action(*arguments)
        except BaseException as error:  # also what `sys.exit` and a keyboard raise
            if isinstance(error, MemoryError):
                room()
            return {"error": problem(error, path)}
        finally:
            printed.finish()

    def load(request):
        nonlocal file
        file = File(path, request["text"])
        return file.registered()

    def change(request):
        tree = Tree(request["tree"])
        file.rule(tree)
        return {"edits": [{kind: edit} for kind, *edit in tree.edits()]}

    def make_tables(request):
        return {"tables": tables(file.tables(Tree(request["tables"])) or {})}

    while True:
        request = PIPE.receive()
        limit()
        # What takes too long ends the process, with its traceback on the pipe.
        faulthandler.dump_traceback_later(seconds, exit=True, file=PIPE.answers)
        if "load" in request:
            path = request["load"]
            PIPE.send(guarded(load, request))
        elif "tree" in request:
            PIPE.send(guarded(change, request))
        elif "tables" in request:
            PIPE.send(guarded(make_tables, request))
        else:
            for call in request["calls"]:
                PIPE.send(guarded(file.answer, call))
        faulthandler.cancel_dump_traceback_later()


main(int(sys.argv[2]), float(sys.argv[3]))
