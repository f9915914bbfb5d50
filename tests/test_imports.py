"""How modules may import each other, beyond what the contracts of import-linter say."""

import grimp
import networkx as nx


def test_no_module_imports_itself_by_way_of_others():
    found = grimp.build_graph("ftlab")
    imports = nx.DiGraph(
        (module, imported)
        for module in found.modules
        for imported in found.find_modules_directly_imported_by(module)
    )
    circles = [c for c in nx.strongly_connected_components(imports) if len(c) > 1]
    assert not circles
    assert imports.has_edge("ftlab.session.watch", "ftlab.session.observation")
