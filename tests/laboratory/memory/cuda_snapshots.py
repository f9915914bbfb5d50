"""Snapshots of a small allocator: documented as `torch.cuda.memory._snapshot` says."""

import pickle

ROUND, SEGMENT = 512, 20 * 2**20


def frame(file, line=1, name="step"):
    return {"filename": file, "line": line, "name": name}


class Allocator:
    """A caching allocator of one device: first fit in segments of 20 MiB."""

    def __init__(self, device=0):
        self.device = device
        self.trace, self.segments, self.live = [], [], {}
        self.allocated, self.reserved = [0], [0]
        """What tensors asked for and what is reserved, before and after each event."""

    def tell(self, action, size, frames=(), **more):
        sums = sum(each[1] for each in self.live.values())
        self.allocated.append(sums)
        self.reserved.append(sum(each["total_size"] for each in self.segments))
        entry = {"action": action, "size": size, "stream": 0, "time_us": 1, **more}
        self.trace.append({**entry, "frames": list(frames)})

    def alloc(self, size, *frames):
        need = -(-size // ROUND) * ROUND
        block = self._free(need)
        rest = {**block, "size": block["size"] - need, "address": 0, "frames": []}
        rest["address"] = block["address"] + need
        blocks = next(e["blocks"] for e in self.segments if block in e["blocks"])
        if rest["size"]:
            blocks.insert(blocks.index(block) + 1, rest)
        made = {"requested_size": size, "frames": list(frames)}
        block.update(made, size=need, state="active_allocated")
        self.live[block["address"]] = block, size
        self.tell("alloc", size, frames, addr=block["address"])
        return block["address"]

    def _free(self, need):
        for segment in self.segments:
            for block in segment["blocks"]:
                if block["state"] == "inactive" and block["size"] >= need:
                    return block
        address = 2**40 + len(self.segments) * 2**30
        total = max(SEGMENT, need)
        block = {"address": address, "size": total, "requested_size": 0}
        block |= {"state": "inactive", "frames": []}
        whole = {"device": self.device, "address": address, "total_size": total}
        whole |= {"stream": 0, "segment_type": "large", "segment_pool_id": (0, 0)}
        self.segments.append({**whole, "blocks": [block]})
        self.tell("segment_alloc", total, addr=address)
        return block

    def free(self, address, completed=True):
        block, size = self.live[address]
        self.tell("free_requested", size, addr=address)
        block["state"] = "active_pending_free"
        if completed:
            block["state"] = "inactive"
            del self.live[address]
            self.tell("free_completed", size, addr=address)

    def oom(self, size, free, *frames):
        self.tell("oom", size, frames, device_free=free)

    def snapshot(self, entries=None):
        for segment in self.segments:
            used = [b["size"] for b in segment["blocks"] if b["state"] != "inactive"]
            segment |= {"allocated_size": sum(used), "active_size": sum(used)}
        trace = self.trace[-entries:] if entries else self.trace
        settings = {"PYTORCH_CUDA_ALLOC_CONF": "", "expandable_segments": False}
        traces = [[] for _ in range(self.device)] + [trace]
        made = {"segments": self.segments, "device_traces": traces}
        return {**made, "allocator_settings": settings, "external_annotations": []}


def written(path, snapshot):
    path.write_bytes(pickle.dumps(snapshot))
    return path


def of_a_step():
    """Return what a step leaves: weights, activations, a large piece that fails."""
    it = Allocator()
    it.alloc(4 * 2**20, frame("/home/me/train.py", 3, "<module>"))
    library = "/opt/venv/lib/python3.12/site-packages/torch/nn/modules/linear.py"
    user = frame("/home/me/train.py", 12, "step")
    frames = frame("??", 0, "at::empty"), frame(library, 134, "forward"), user
    kept = [it.alloc(2**20, *frames) for _ in range(10)]
    it.alloc(2**21)
    it.oom(2**33, 3 * 2**20, user)
    for each in kept[::2]:
        it.free(each)
    return it
