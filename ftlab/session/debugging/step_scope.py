"""Which names a loop's body binds, and which objects it may change in place."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_READERS = frozenset({"copy", "count", "get", "index", "items", "keys", "values"})
"""Methods of containers that leave them alone."""

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop that trains.

    Attributes
    ----------
    node
        Its statement.
    functions
        The functions that it is in, outermost first.
    """

    node: ast.For | ast.AsyncFor | ast.While
    functions: tuple[ast.FunctionDef, ...] = ()

    @property
    def outermost(self) -> ast.FunctionDef | None:
        """The function at the top that the loop is in."""
        return self.functions[0] if self.functions else None


def inside(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield ``nodes`` and what is in them, without the bodies of functions."""
    for node in nodes:
        yield node
        if isinstance(node, _SCOPES):
            yield from inside(_outer_parts(node))
        else:
            yield from inside(ast.iter_child_nodes(node))


def _outer_parts(node: ast.AST) -> list[ast.AST]:
    """Return what of a definition is evaluated around it."""
    parts = [*getattr(node, "decorator_list", ()), *getattr(node, "bases", ())]
    arguments = getattr(node, "args", None)
    if isinstance(arguments, ast.arguments):
        parts += [*arguments.defaults, *(d for d in arguments.kw_defaults if d)]
    return parts


def assigned(body: Iterable[ast.AST]) -> set[str]:
    r"""Return the names that ``body`` binds or deletes in its own scope.

    Examples
    --------
    >>> import ast
    >>> from ftlab.session.debugging.step_scope import assigned
    >>> body = ast.parse("total += x\nwith f() as (a, b):\n  c = [i for i in d]").body
    >>> sorted(assigned(body))
    ['a', 'b', 'c', 'total']
    """
    return {name for node in _bindings(body) for name in _bound(node)}


def _bindings(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Walk as `inside`; of comprehensions only what ``:=`` binds."""
    for node in nodes:
        if isinstance(node, _COMPREHENSIONS):
            walrus = (
                each for each in inside([node]) if isinstance(each, ast.NamedExpr)
            )
            yield from (each.target for each in walrus)
            continue
        yield node
        if isinstance(node, _SCOPES):
            yield from _bindings(_outer_parts(node))
        else:
            yield from _bindings(ast.iter_child_nodes(node))


def _bound(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name
        case ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from ((each.asname or each.name).partition(".")[0] for each in names)
        case ast.ExceptHandler(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.MatchAs(name=str(name)) | ast.MatchMapping(rest=str(name)):
            yield name


def changed(body: Iterable[ast.AST]) -> set[str]:
    r"""Return the names of objects that ``body`` may change in place.

    It assigns to their items or attributes, calls a method of theirs, or hands them to
    a call.

    Examples
    --------
    >>> import ast
    >>> from ftlab.session.debugging.step_scope import changed
    >>> body = ast.parse("losses.append(x.get('a'))\nstats['n'] += eps['low']").body
    >>> sorted(changed(body))
    ['losses', 'stats']
    """
    body = list(body)
    touched = {name for node in inside(body) for name in _touched(node)}
    return touched - _fresh(body)


def _fresh(body: Iterable[ast.AST]) -> set[str]:
    """Return names whose first mention binds them: what they were does not count."""
    fresh: set[str] = set()
    mentioned: set[str] = set()
    for node in body:
        if isinstance(node, ast.With):
            mentioned |= _mentions(node.items)
            fresh |= _fresh(node.body) - mentioned
        elif isinstance(node, ast.Assign):
            mentioned |= _mentions([node.value])
            fresh |= assigned(node.targets) - mentioned
        mentioned |= _mentions([node])
    return fresh


def _mentions(nodes: Iterable[ast.AST]) -> set[str]:
    every = (each for node in nodes for each in ast.walk(node))
    return {each.id for each in every if isinstance(each, ast.Name)}


def _touched(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Attribute(ctx=ast.Store() | ast.Del()):
            yield from _root(node)
        case ast.Subscript(ctx=ast.Store() | ast.Del()):
            yield from _root(node)
        case ast.AugAssign(target=target):
            yield from _root(target)
        case ast.Call(func=function, args=args, keywords=keywords):
            if isinstance(function, ast.Attribute) and function.attr not in _READERS:
                yield from _root(function.value)
            for each in (*args, *(keyword.value for keyword in keywords)):
                yield from ([each.id] if isinstance(each, ast.Name) else [])


def _root(node: ast.AST) -> Iterator[str]:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id


def nested_functions(tree: ast.AST) -> list[ast.FunctionDef]:
    """Return the functions that ``tree`` defines anywhere."""
    return [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)]


def global_names(loop: Loop) -> set[str]:
    """Return the names that the loop's function declares global."""
    function = loop.functions[-1]
    parts = inside(ast.iter_child_nodes(function))
    return {n for each in parts if isinstance(each, ast.Global) for n in each.names}
