def add(tree, name, children, gpu_events=()):
    uid = len(tree.events)
    event = {'name': name, 'cat': 'cpu_op', 'args': {'Input Dims': [[3]], 'note': name}, 'children': children,
             'gpu_events': list(gpu_events), 'UID': uid}
    tree.events.append(event)
    return uid

def tree_postprocess_extension(tree):
    [moe] = [tree.get_UID2event(uid) for uid in tree.name2event_uids['moe']]
    moe['args']['topk'] = 4
    moe['name'] = 'my moe'
    up, down = moe['gpu_events']
    launches = list(moe['children'])
    assert [tree.events[uid]['name'] for uid in launches] == ['cudaLaunchKernel'] * 2
    assert [event['name'] for event in tree.events[:3]] == ['my moe', 'cudaLaunchKernel', 'up']
    assert tree.get_parent_event(tree.get_UID2event(up))['UID'] == launches[0]
    both = add(tree, 'both', launches, [up, down])
    moe['children'][:] = [both]
