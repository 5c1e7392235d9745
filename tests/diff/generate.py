"""Random joint graphs for the differential run: seeded, deterministic, and bent towards what decides a rule.

graph(seed) gives (document, options). A graph has a forward part, then a backward part that reads values of the forward; on top
of that come the oddities a producer can send: effect tokens, functionalised mutation, user kernels, collectives, symbols, opaque
values, placement and checkpoint tags, traits given and denied, dead nodes, strange outputs.
"""
import random

POINTWISE = ["aten.add.Tensor", "aten.mul.Tensor", "aten.relu.default", "aten.tanh.default", "aten.exp.default", "aten.sub.Tensor",
             "aten.sigmoid.default", "aten.where.self", "aten.rsqrt.default", "prims.convert_element_type.default",
             "aten._to_copy.default", "aten.neg.default", "aten.div.Tensor", "aten.silu.default", "aten.gelu.default"]
VIEWS = ["aten.view.default", "aten.permute.default", "aten.t.default", "aten.slice.Tensor", "aten.select.int",
         "aten.unsqueeze.default", "aten.squeeze.dim", "aten.expand.default", "aten.reshape.default", "aten.alias.default",
         "aten.as_strided.default", "aten._unsafe_view.default"]
REDUCTIONS = ["aten.sum.dim_IntList", "aten.mean.dim", "aten.amax.default", "aten.argmax.default", "aten.any.dim", "aten.var.correction"]
COMPUTE = ["aten.mm.default", "aten.bmm.default", "aten.addmm.default", "aten.convolution.default",
           "aten._scaled_dot_product_flash_attention.default", "aten.upsample_bilinear2d.vec", "aten._scaled_mm.default"]
RANDOM = ["aten.rand_like.default", "aten.randn_like.default", "aten.bernoulli.p", "aten.native_dropout.default", "aten.rand.default"]
FACTORIES = ["aten.full.default", "aten.arange.start_step", "aten.empty.memory_format", "aten.zeros.default", "aten.ones.default"]
LIFTS = ["aten.lift_fresh_copy.default", "aten.lift_fresh.default"]
COLLECTIVES = ["_c10d_functional.all_gather_into_tensor.default", "_c10d_functional.all_reduce.default",
               "_c10d_functional.reduce_scatter_tensor.default", "_c10d_functional_autograd.all_gather_into_tensor.default"]
WAIT = "_c10d_functional.wait_tensor.default"
UNKNOWN = ["mylib.attention.default", "mylib.norm", "helper_function", "aten.embedding.default", "aten.index.Tensor",
           "aten.topk.default", "quack.rope.default", "aten.cumsum.default", "aten.sort.stable", "aten.nonzero.default"]
MUTATING = ["aten.add_.Tensor", "aten.copy_.default", "aten.mul_.Tensor", "aten.index_put_.default", "mylib.fill.out", "aten.sum.out"]
IMPURE = ["aten._assert_async.msg", "aten._assert_scalar.default"]
TRAITS = ["mutable", "seeded", "impure", "effects", "custom", "view", "random", "compute_intensive", "recomputable", "fusible",
          "no_recompute"]
POLICIES = ["must_save", "prefer_save", "prefer_recompute", "must_recompute", "must_cpu_offload", "prefer_cpu_offload"]
DTYPES = ["float32", "float32", "bfloat16", "bfloat16", "float16", "float64", "int64", "bool", "uint8", "float8_e4m3fn", "complex64"]
DIMS = [1, 2, 3, 4, 4, 8, 8, 16, 16, 32, 64, 128, 1000]
SYMBOLS = {"s0": 8, "s1": 33, "u0": 5}


class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.nodes, self.vals, self.names = [], {}, set()
        self.fw, self.tangents, self.bw, self.syms, self.objects, self.containers = [], [], [], [], [], []
        self.primals, self.copies, self.extra_outputs = [], [], []
        self.phase = "is_forward"
        r = self.r
        self.placement = r.choices(["full", "none", "odd"], [70, 15, 15])[0]
        self.tagging = r.choices(["none", "some", "regions", "wild"], [35, 30, 25, 10])[0]
        self.traiting = r.choices([0, 0.03, 0.2], [60, 30, 10])[0]
        self.huge = r.random() < 0.02
        self.missing = 0.05 if r.random() < 0.02 else 0

    def maybe(self, p):
        return self.r.random() < p

    # ---- values ----------------------------------------------------------------

    def tensor(self, like=None):
        r = self.r
        if like is not None and "shape" in like and self.maybe(0.75):
            v = {k: like[k] for k in ("dtype", "shape", "hint", "numel_hint", "symbols") if k in like}
            if self.maybe(0.1):
                v["dtype"] = r.choice(DTYPES)
            return v
        shape = [r.choice(DIMS) for _ in range(r.choices([0, 1, 2, 3], [8, 30, 45, 17])[0])]
        if self.maybe(0.03) and shape:
            shape[r.randrange(len(shape))] = 0
        if self.maybe(0.01):  # weighs exactly a million, or will at distance 1
            return {"dtype": "uint8", "shape": [r.choice([1000000, 909091])]}
        if self.huge:
            shape = [1 << r.randint(8, 20), 3 ** r.randint(3, 10)]
        v = {"dtype": r.choice(DTYPES), "shape": shape}
        if self.syms and shape and self.maybe(0.3):
            s = r.choice(sorted(SYMBOLS))
            i, hint = r.randrange(len(shape)), list(shape)
            v["shape"] = list(shape)
            v["shape"][i], hint[i] = s, SYMBOLS[s]
            v["hint"], v["symbols"] = hint, sorted({s, r.choice(sorted(SYMBOLS))}) if self.maybe(0.3) else [s]
            if s == "u0" and self.maybe(0.5):
                v["numel_hint"] = r.choice([1, 17, 8192])
        if self.maybe(0.01):
            v["no_storage"] = True
        return v

    def smaller(self, like):
        v = self.tensor(like)
        return {"dtype": v["dtype"], "shape": [max(1, s // 8) if isinstance(s, int) else 1 for s in v["shape"][:1]]}

    def tuple_value(self, like=None):
        members = [self.tensor(like) for _ in range(self.r.randint(1, 3))]
        if self.maybe(0.15):
            members.append({"tuple": [self.tensor()]})
        if self.maybe(0.1):
            members.append({"sym": "int", "hint": 3, "expr": "3"})
        if self.maybe(0.1):
            members.append(None)
        return {"tuple": members}

    # ---- nodes -----------------------------------------------------------------

    def name(self, base):
        base = base.replace(".", "_")
        name, k = base, 0
        while name in self.names:
            k += 1
            name = f"{base}_{k}"
        self.names.add(name)
        return name

    def policy(self):
        r = self.r
        if self.tagging == "none":
            return {}
        p = {"some": 0.15, "regions": 0.6, "wild": 0.8}[self.tagging]
        if not self.maybe(p):
            return {}
        if self.tagging == "regions":
            d = {"recompute": r.choices(POLICIES, [25, 1, 60, 12, 1, 1])[0], "ac_graph_id": len(self.nodes) // 12}
            if self.maybe(0.1):
                del d["ac_graph_id"]
            return d
        d = {"recompute": r.choice(POLICIES)}
        if self.maybe(0.4):
            d["ac_graph_id"] = r.randint(0, 3)
        return d

    def tag(self):
        if self.placement == "none":
            return {}
        if self.placement == "odd" and self.maybe(0.12):
            return {"partitioner_tag": self.r.choice(["is_forward", "is_backward", "must_be_in_forward", "must_be_in_backward"])}
        return {"partitioner_tag": self.phase}

    def oddities(self, d, p=1.0):
        r = self.r
        if self.maybe(self.traiting):
            d["traits"] = sorted({r.choice(["", "", "-"]) + r.choice(TRAITS) for _ in range(r.randint(1, 2))})
        if self.maybe(0.04 * p):
            d["no_vc_check"] = True
        if "recompute" in d and self.maybe(0.1):
            d["has_backward_hook"] = True
        if self.nodes and self.maybe(0.03):
            d["alias_of"] = r.choice(self.nodes)["name"]
        if self.maybe(0.002):
            d["memory_budget"] = 1
        if self.maybe(0.01):
            d["opaque"] = True
        if self.maybe(0.01):
            d["binds"] = r.choice(sorted(SYMBOLS))

    def add(self, op, target, args=(), kwargs=None, val=None, base=None, odd=True, **fields):
        d = {"name": self.name(base or target.split(".")[-2 if target.count(".") >= 2 else -1]), "op": op, "target": target}
        if args or op == "output":
            d["args"] = list(args)
        if kwargs:
            d["kwargs"] = kwargs
        if val and not (op == "call_function" and self.maybe(self.missing)):
            d["val"] = val
        d.update(self.tag())
        if odd and op == "call_function":
            d.update(self.policy())
            self.oddities(d)
        elif odd and self.tagging == "wild":
            d.update(self.policy())
        d.update(fields)
        self.nodes.append(d)
        self.vals[d["name"]] = d.get("val") or {}
        return d["name"]

    def call(self, target, args=(), kwargs=None, val=None, **fields):
        return self.add("call_function", target, args, kwargs, val, **fields)

    def ref(self, name):
        return "%" + name

    def source(self):
        """A forward tensor, recent ones preferred."""
        if self.maybe(0.6) and len(self.fw) > 6:
            return self.fw[-self.r.randint(1, 6)]
        return self.r.choice(self.fw)

    def operands(self, n=None, pool=None):
        n = n or self.r.choices([1, 2, 3], [45, 40, 15])[0]
        names = [self.r.choice(pool) if pool else self.source() for _ in range(n)]
        if n > 1 and self.maybe(0.15):
            names[1] = names[0]
        return names

    # ---- what one step adds --------------------------------------------------------

    def simple(self, targets, val_of=None, names=None):
        names = names or self.operands()
        like = self.vals[names[0]]
        args, kwargs = [self.ref(x) for x in names], None
        style = self.r.random()
        if style < 0.08:
            args = [args]
        elif style < 0.14:
            args, kwargs = args[:1], {"other": args[-1], "alpha": 2}
        elif style < 0.2:
            args += [self.r.choice([0, 1.5, True, None, "sum", "%%literal", [1, 2], {"dtype": "bfloat16"}, {"device": "cuda:0"}])]
        elif style < 0.22:
            args.append({"slice": [0, args[0], None]})
        target = self.r.choice(targets)
        if target.endswith("native_dropout.default"):
            return self.unpack(self.call(target, args, kwargs, {"tuple": [self.tensor(like), self.tensor(like)]}))
        return [self.call(target, args, kwargs, (val_of or self.tensor)(like))]

    def pointwise(self):
        return self.simple(POINTWISE)

    def view(self):
        return self.simple(VIEWS, lambda like: self.tensor(like) if self.maybe(0.9) else self.tuple_value(like), self.operands(1))

    def reduction(self):
        return self.simple(REDUCTIONS, self.smaller)

    def compute(self):
        return self.simple(COMPUTE)

    def random_op(self):
        return self.simple(RANDOM)

    def unknown(self):
        return self.simple(UNKNOWN)

    def lift(self):
        return self.simple(LIFTS)

    def table_op(self):
        """Any operator the table knows, whatever it does."""
        target = self.r.choice(OVERLOADS if self.maybe(0.4) else PACKETS)
        return self.simple([target])

    def factory(self):
        return [self.call(self.r.choice(FACTORIES), [[2, 3]], {"dtype": {"dtype": "float32"}}, self.tensor())]

    def attribute(self):
        val = self.tensor() if self.maybe(0.8) else None
        return [self.add("get_attr", "_tensor_constant%d" % len(self.nodes), val=val, base="constant")]

    def cat(self):
        names = self.operands(self.r.randint(1, 4))
        return [self.call("aten.cat.default", [[self.ref(x) for x in names], 0], None, self.tensor(self.vals[names[0]]))]

    def unpack(self, source, key=None):
        """getitems of a container, nested ones too."""
        val = self.vals[source]
        out = []
        members = val.get("tuple")
        items = list(val.get("dict", {}).items()) if members is None else list(enumerate(members))
        for k, member in items:
            if self.maybe(0.15):
                continue
            name = self.call("getitem", [self.ref(source), k], None, member, base="getitem")
            if isinstance(member, dict) and ("tuple" in member):
                out += self.unpack(name)
            elif isinstance(member, dict) and "dtype" in member:
                out.append(name)
        return out

    def multi(self):
        names = self.operands()
        source = self.call(self.r.choice(["aten.var_mean.correction", "aten.native_layer_norm.default", "aten.split.Tensor",
                                          "aten._native_batch_norm_legit_functional.default", "aten.topk.default"]),
                           [self.ref(x) for x in names], None, self.tuple_value(self.vals[names[0]]))
        if self.maybe(0.1):
            self.containers.append(source)
        return self.unpack(source)

    def effects(self):
        names = self.operands(2)
        result = self.tensor(self.vals[names[0]])
        inner = result if self.maybe(0.5) else {"tuple": [result, self.tensor()]}
        fields = {"traits": ["effects"]} if self.maybe(0.5) else {}
        source = self.call("higher_order.with_effects", [self.ref(names[0]), {"op": "mylib.record.default"}, self.ref(names[1])], None,
                           {"tuple": [{"dtype": "float32", "shape": [0]}, inner]}, **fields)
        return self.unpack(source)

    def functionalised(self):
        """auto_functionalized: an operator that mutates, made functional."""
        x, y, z = self.operands(3)
        kwargs = {"x": self.ref(x), "y": self.ref(y), "zs": [self.ref(z), self.ref(x)] if self.maybe(0.5) else self.ref(z), "n": 3}
        source = self.call("higher_order.auto_functionalized", [{"op": "mylib.update.default"}], kwargs,
                           {"tuple": [self.tensor(self.vals[x]), self.tensor(self.vals[z])]}, base="auto_functionalized",
                           mutated_args=self.r.sample(["x", "y", "zs", "n", "absent"], self.r.randint(0, 3)))
        return self.unpack(source)

    def kernel(self, names=None):
        a, b = names or self.operands(2)
        clone = self.r.sample(["a", "b", "absent"], self.r.randint(0, 2))
        source = self.call("higher_order.triton_kernel_wrapper_functional", (), {
            "kernel_idx": 0, "grid": [], "kwargs": {"dict": {"a": self.ref(a), "b": self.ref(b), "n": 4}}, "tensors_to_clone": clone},
            {"dict": {"a": self.tensor(self.vals[a]), "b": self.tensor(self.vals[b])}}, base="triton")
        return self.unpack(source)

    def collective(self):
        x = self.source()
        gather = self.call(self.r.choice(COLLECTIVES), [self.ref(x), 8, "0"], None, self.tensor(self.vals[x]))
        fields = {"recompute": "prefer_recompute"} if self.maybe(0.15) else {}
        wait = self.call(WAIT, [self.ref(gather)], None, dict(self.vals[gather]) or self.tensor(), **fields)
        if self.maybe(0.3):
            return []  # nobody reads it
        return [wait] + ([gather] if self.maybe(0.2) else [])

    def symbol(self):
        r = self.r
        kind = r.choices(["size", "product", "float", "bool", "item", "minimum"], [25, 20, 25, 20, 10, 5])[0]
        s = r.choice(sorted(SYMBOLS))
        x = self.source()
        if kind == "size" or not self.syms:
            n = self.call("aten.sym_size.int", [self.ref(x), 0], None, {"sym": "int", "hint": SYMBOLS[s], "expr": s, "symbols": [s]})
        elif kind == "float":
            n = self.call("aten.sym_float", [self.ref(r.choice(self.syms))], None, {"sym": "float", "hint": 8.0, "expr": s, "symbols": [s]})
        elif kind == "bool":
            n = self.call("operator.ge", [self.ref(r.choice(self.syms)), 0], None, {"sym": "bool", "hint": True, "expr": s + " >= 0",
                                                                                    "symbols": [s]})
            if self.maybe(0.6):
                self.call("aten._assert_scalar.default", [self.ref(n), "positive"])
        elif kind == "item":
            n = self.call("aten._local_scalar_dense.default", [self.ref(x)], None, {"sym": "int", "hint": 5, "expr": "u0", "symbols": ["u0"]},
                          **({"binds": "u0"} if self.maybe(0.7) else {}))
        else:
            n = self.call("operator.mul", [self.ref(r.choice(self.syms)), 2], None, {"sym": "int", "hint": 16, "expr": "2*" + s,
                                                                                     "symbols": [s]})
        self.syms.append(n)
        return []

    def with_symbol(self):
        """An operator that reads a symbol."""
        if not self.syms:
            return self.symbol()
        x = self.source()
        return [self.call(self.r.choice(["aten.view.default", "aten.expand.default", "aten.mul.Scalar", "mylib.roll.default"]),
                          [self.ref(x), [self.ref(self.r.choice(self.syms)), -1]], None, self.tensor(self.vals[x]))]

    def with_object(self):
        if not self.objects:
            return self.pointwise()
        x, o = self.source(), self.r.choice(self.objects)
        out = [self.call("mylib.call_object.default", [self.ref(o), self.ref(x)], None, self.tensor(self.vals[x]))]
        if self.maybe(0.2):
            self.objects.append(self.call("mylib.next_object.default", [self.ref(o)], None, {"opaque": "Object"}, opaque=True))
        return out

    def mutation(self):
        """In place, at once: only where the placement tags or the graph allow it."""
        if not self.maybe(0.25):
            return self.pointwise()
        x, y = self.operands(2)
        n = self.call(self.r.choice(MUTATING), [self.ref(x), self.ref(y)], None, self.tensor(self.vals[x]))
        return [n] if self.maybe(0.3) else []

    def barrier(self):
        x = self.source()
        self.call(self.r.choice(IMPURE), [self.ref(x), "message"])
        return []

    def dead(self):
        self.simple(POINTWISE + RANDOM + VIEWS)
        return []

    def odd_value(self):
        x = self.source()
        if self.maybe(0.5):
            n = self.call("mylib.flag.default", [self.ref(x)], None, {"const": 3} if self.maybe(0.5) else {"opaque": "Thing"})
        else:
            n = self.call("mylib.nothing.default", [self.ref(x)])
        return [self.call("mylib.use.default", [self.ref(x), self.ref(n)], None, self.tensor(self.vals[x]))]

    def container_use(self):
        if not self.containers:
            return self.multi()
        x = self.r.choice(self.containers)
        return [self.call("mylib.join.default", [self.ref(x)], None, self.tensor())]

    def lift_far(self):
        """A value used near and, behind something unfusible, far away."""
        p = self.source()
        near = self.call("aten.relu.default", [self.ref(p)], None, dict(self.vals[p]) or self.tensor())
        wall = self.call("aten.mm.default", [self.ref(near), self.ref(near)], None, self.tensor())
        mid = self.call("aten.exp.default", [self.ref(wall)], None, self.tensor())
        far = self.call("aten.add.Tensor", [self.ref(mid), self.ref(p)], None, dict(self.vals[p]) or self.tensor())
        return [near, far] if self.maybe(0.5) else [far]

    FORWARD = [("pointwise", 24), ("view", 10), ("reduction", 6), ("compute", 8), ("random_op", 4), ("unknown", 5), ("lift", 2),
               ("table_op", 3), ("factory", 2), ("attribute", 1), ("cat", 4), ("multi", 4), ("effects", 2), ("functionalised", 3),
               ("kernel", 3), ("collective", 4), ("symbol", 4), ("with_symbol", 3), ("with_object", 2), ("mutation", 2), ("barrier", 1),
               ("dead", 2), ("odd_value", 0.12), ("container_use", 0.3), ("lift_far", 2)]

    def placeholders(self, n_primals, n_tangents):
        r = self.r
        for i in range(n_primals):
            k = r.random()
            if k < 0.07:
                s = r.choice(sorted(SYMBOLS)[:2])
                self.syms.append(self.add("placeholder", f"primals_{i + 1}", val={"sym": "int", "hint": SYMBOLS[s], "expr": s, "symbols": [s]},
                                          **({"binds": s} if self.maybe(0.8) else {})))
            elif k < 0.09:
                self.objects.append(self.add("placeholder", f"primals_{i + 1}", val={"opaque": r.choice(
                    ["FakeScriptObject", "BackwardState", "Object"])}, opaque=self.maybe(0.5)))
            elif k < 0.13:
                self.objects.append(self.add("placeholder", f"primals_{i + 1}", val={"opaque": r.choice(["FakeScriptObject", "BackwardState"])}))
            else:
                n = self.add("placeholder", f"primals_{i + 1}", val=self.tensor(), base=f"primals_{i + 1}",
                             **({"no_vc_check": True} if self.maybe(0.05) else {}))
                self.fw.append(n)
                self.primals.append(n)
        if not self.fw:
            self.fw.append(self.add("placeholder", "primals_0", val=self.tensor()))
            self.primals = list(self.fw)
        for label in ("fwd_seed", "fwd_base_offset"):
            if self.maybe(0.08):
                self.fw.append(self.add("placeholder", label + "_0", val={"dtype": "int64", "shape": []}))
        self.phase = "is_backward"
        for i in range(n_tangents):
            self.tangents.append(self.add("placeholder", f"tangents_{i + 1}", val=self.tensor(self.vals[r.choice(self.fw)])))
        self.bw = list(self.tangents)
        for label in ("bwd_seed", "bwd_base_offset"):
            if self.maybe(0.08):
                shape = [0] if len(self.bw) % 2 else []  # what costs nothing is cut through without being needed
                self.bw.append(self.add("placeholder", label + "_0", val={"dtype": "int64", "shape": shape}))
        self.phase = "is_forward"

    def forward(self, limit):
        kinds, weights = zip(*self.FORWARD)
        while len(self.nodes) < limit:
            made = getattr(self, self.r.choices(kinds, weights)[0])()
            self.fw += [n for n in made if "dtype" in self.vals[n] or self.maybe(0.3)]

    def chain(self, limit):
        """A long run of fusible operators, now and then with a bridge."""
        last = self.r.choice(self.primals)
        while len(self.nodes) < limit:
            args = [self.ref(last)]
            if self.maybe(0.1):
                args.append(self.ref(self.source()))
            last = self.call(self.r.choice(POINTWISE), args, None, dict(self.vals[last]))
            if self.maybe(0.05):
                self.fw.append(last)
        self.fw += [last] * 4

    def backward(self, limit):
        r = self.r
        self.phase, free = "is_backward", []
        if not self.bw:
            return
        while len(self.nodes) < limit:
            k = r.random()
            if k < 0.12:  # from forward values only: belongs to neither side at first
                x = self.source()
                free.append(self.call(r.choice(VIEWS + POINTWISE), [self.ref(x)], None, self.tensor(self.vals[x])))
                continue
            g = self.bw[-r.randint(1, min(4, len(self.bw)))]
            args = [g]
            for _ in range(r.choices([0, 1, 2], [20, 55, 25])[0]):
                args.append(r.choice(free) if free and self.maybe(0.3) else self.source())
            if self.syms and self.maybe(0.12):
                args.append(r.choice(self.syms))
            if self.objects and self.maybe(0.12):
                args.append(r.choice(self.objects))
            target = r.choice(POINTWISE + COMPUTE + REDUCTIONS + VIEWS[:3] + UNKNOWN[:3])
            refs = [self.ref(x) for x in args]
            if self.maybe(0.06):
                n = self.unpack(self.call("aten.native_layer_norm_backward.default", refs, None, self.tuple_value()))
                self.bw += n or []
                continue
            if self.maybe(0.03):
                self.bw += self.collective_backward(g)
                continue
            if self.maybe(0.04) and len(args) > 1:
                ends = self.kernel([args[0], args[1]])
                self.bw += ends
                if ends and self.maybe(0.5):
                    end = ends[-1]
                    if self.maybe(0.4):
                        end = self.call(r.choice(["aten.view.default", "aten.reshape.default"]), [self.ref(end), [-1]], None, self.tensor())
                    self.extra_outputs.append(end)
                continue
            self.bw.append(self.call(target, refs, None, self.tensor(self.vals[g])))

    def collective_backward(self, g):
        a = self.call(COLLECTIVES[2], [self.ref(g), "sum", 8, "0"], None, self.tensor(self.vals[g]))
        return [self.call(WAIT, [self.ref(a)], None, self.tensor(self.vals[g]))]

    def ends(self):
        """Copies into inputs at the end: functionalised mutation, in the forward and again in the backward."""
        r = self.r
        if not self.maybe(0.3):
            return
        for x in r.sample(self.primals, min(len(self.primals), r.randint(1, 2))):
            self.phase = "must_be_in_forward"
            both = self.maybe(0.7)
            if both or self.maybe(0.5):
                self.end_copy(x, self.source(), "must_be_in_forward")
            if both or self.maybe(0.3):
                n = self.end_copy(x, r.choice(self.bw or self.fw), "must_be_in_backward")
                if self.maybe(0.5):
                    self.extra_outputs.append(n)

    def end_copy(self, x, source, tag):
        tag = tag if self.maybe(0.95) else "is_backward"
        return self.call("aten.copy_.default", [self.ref(x), self.ref(source)], None, dict(self.vals[x]) or None, base="copy_",
                         odd=False, partitioner_tag=tag)

    def output(self):
        r = self.r
        outs = [self.ref(self.source()) for _ in range(r.randint(0 if self.maybe(0.05) else 1, 3))]
        if self.syms and self.maybe(0.1):
            outs.append(self.ref(r.choice(self.syms)))
        if self.maybe(0.08):
            outs.append(None)
        if outs and self.maybe(0.08):
            outs.append(outs[0])
        outs += [self.ref(x) for x in self.extra_outputs]
        n_forward = len(outs)
        ends = [x for x in self.bw if x not in self.tangents] or self.bw
        grads = [self.ref(r.choice(ends[-8:])) if ends and self.maybe(0.8) else None for _ in range(r.randint(1, max(1, len(self.primals))))]
        if self.maybe(0.08):
            grads.append(self.ref(r.choice(self.fw + self.primals)))
        if self.tangents and self.maybe(0.04):
            grads.append(self.ref(r.choice(self.tangents)))
        if self.maybe(0.004) and self.bw:
            outs.append(self.ref(self.bw[-1]))
        if self.maybe(0.01) and self.syms:
            grads.append(self.ref(r.choice(self.syms)))
        self.phase = "is_backward"
        self.add("output", "output", outs + grads, odd=False)
        return n_forward if outs[n_forward:] == [] else len(outs)

    def document(self):
        r = self.r
        self.style = style = r.choices(["mixed", "chain"], [92, 8])[0]
        size = r.randint(*r.choices([(5, 40), (40, 110), (110, 190)], [40, 42, 18])[0])
        if style == "chain":
            size, self.tagging = r.randint(150, 190), r.choice(["none", self.tagging])
        n_primals = r.randint(1, max(1, min(10, size // 5)))
        self.placeholders(n_primals, r.randint(0 if self.maybe(0.02) else 1, 3))
        if style == "chain":
            self.chain(min(size - 15, len(self.nodes) + r.randint(104, 140)))
            self.backward(size)
        else:
            self.forward(len(self.nodes) + max(1, (size - len(self.nodes)) * r.randint(40, 70) // 100))
            self.backward(size)
        self.ends()
        n_forward = self.output()
        k = sum(d["op"] == "placeholder" and d["target"].startswith("primals") for d in self.nodes)
        static = sorted(r.sample(range(k), r.randint(0, k // 2))) if self.maybe(0.6) else []
        return {"schema": "remat/graph/v1", "num_fwd_outputs": n_forward, "static_lifetime_inputs": static, "nodes": self.nodes}


BOOLS = {"aggressive_recomputation": (False, 0.06), "recompute_views": (False, 0.12), "treat_parameters_as_free_to_save": (True, 0.2),
         "ban_recompute_used_far_apart": (True, 0.12), "ban_recompute_long_fusible_chains": (True, 0.12),
         "ban_recompute_materialized_backward": (True, 0.25), "ban_recompute_not_in_allowlist": (True, 0.3),
         "ban_recompute_reductions": (True, 0.15), "is_non_builtin_to_include": (False, 0.25),
         "unsafe_allow_optimization_of_collectives": (False, 0.1), "impure_random": (False, 0.2)}
OVERLOADS, PACKETS = [], []


def use_table(optable):
    """Operators of the table for `table_op`; call once."""
    OVERLOADS[:] = sorted(k for k, facts in optable["overloads"].items() if "mutable" not in facts)
    PACKETS[:] = sorted(k if k.count(".") != 1 or not k.startswith(("aten", "prims")) else k + ".default" for k in optable["packets"])


def options(r):
    out = {name: not default for name, (default, p) in BOOLS.items() if r.random() < p}
    if r.random() < 0.2:
        out["max_dist_from_bw"] = r.choice([0, 1, 2, 3, 5, 8, 12])
    if r.random() < 0.12:
        out["profile"] = "plain"
    if r.random() < 0.1:
        out["activation_memory_budget"] = 1.0
    if r.random() < 0.06:
        out["activation_memory_budget"] = r.choice([0, 0.05, 0.3, 0.5, 0.7, 0.95])
        out["activation_memory_budget_solver"] = r.choice(["greedy", "dp"])
        out["activation_memory_budget_runtime_estimator"] = "testing"
        out["compat"] = True
    return out


def graph(seed):
    """(document, options) number `seed`; the same on every machine and run."""
    maker = Maker(seed)
    document = maker.document()
    document["name"] = f"random {seed}"
    settings = options(maker.r)
    if maker.style == "chain" and maker.maybe(0.5):
        settings["ban_recompute_materialized_backward"] = False
    return document, settings
