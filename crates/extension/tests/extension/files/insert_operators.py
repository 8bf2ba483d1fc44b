def tree_postprocess_extension(tree):
    for op in tree.events_by_name('moe'):
        kernels = tree.gpu_events(op)
        inserted = [tree.isolate(kernel, 'pseudo_' + kernel.name, args = {'part': kernel.name}) for kernel in kernels]
        tree.wrap_children(op, 'all parts', sequence_number = 9)
        top = tree.insert_above(op, 'top', donor = op)
        tree.set_arg(inserted[0], 'topk', 2)
        print([e.name for e in tree.ancestors(kernels[0])], tree.parent(top), op.dims, op.sequence_number)
        print([e.name for e in tree.children(op)], [(e.name, e.args['part'], e.args['topk']) for e in tree.events_by_name('pseudo_up')])
        print([r.name for r in tree.roots()], tree.operator(kernels[1]).name, len(tree.descendants(top)))
