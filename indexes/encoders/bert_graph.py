"""BERT's forward pass as an ONNX graph, built from the weights themselves, so that a query needs no torch.

The graph is the model of Devlin et al. (2018), "BERT: Pre-training of Deep Bidirectional Transformers", with
ONNX Runtime's fused operators for attention, biases and layer norms. It is built in memory at every load:
there is no converted copy of the weights on disk that could go stale.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
FUSED = "com.microsoft"


@dataclass(frozen=True, slots=True)
class BertShape:
    """The numbers of a BERT model that its weights do not tell."""

    layers: int
    heads: int
    epsilon: float = 1e-12


class BertGraph:
    """The forward pass as ONNX nodes; every method adds nodes and returns the name of what they give.

    Args:
        weights: the tensors by their names in the checkpoint, which begin with `embeddings` or `encoder`.
        shape: layers, heads and the layer norms' epsilon.

    Raises:
        KeyError: a weight that the model needs is missing.
    """

    def __init__(self, weights: Mapping[str, Array], shape: BertShape) -> None:
        self.weights = weights
        self.shape = shape
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        state = self._embeddings()
        for layer in range(shape.layers):
            state = self._layer(layer, state)
        self._output = state

    def serialized(self) -> bytes:
        """The model as bytes, from token ids and a mask to the last hidden states.

        The inputs `ids` int64 and `mask` int32 (0 where padded) are `(batch, length)`, the output `states`
        float32 is `(batch, length, hidden)`.
        """
        from onnx import TensorProto, helper

        self._add("Identity", [self._output], "states")
        hidden = self.weights["embeddings.word_embeddings.weight"].shape[1]
        sizes = ["batch", "length"]
        inputs = [
            helper.make_tensor_value_info("ids", TensorProto.INT64, sizes),
            helper.make_tensor_value_info("mask", TensorProto.INT32, sizes),
        ]
        outputs = [helper.make_tensor_value_info("states", TensorProto.FLOAT, [*sizes, hidden])]
        graph = helper.make_graph(self._nodes, "bert", inputs, outputs, self._constants)
        domains = [helper.make_opsetid("", 17), helper.make_opsetid(FUSED, 1)]
        model: bytes = helper.make_model(graph, opset_imports=domains, ir_version=10).SerializeToString()
        return model

    def _constant(self, name: str, value: NDArray[Any] | None = None) -> str:
        """A constant: a weight of the checkpoint, or a value by a name of its own."""
        from onnx import numpy_helper

        array = self.weights[name] if value is None else value
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def _add(self, op: str, inputs: Sequence[str], output: str, domain: str = "", **options: Any) -> str:
        from onnx import helper

        self._nodes.append(helper.make_node(op, list(inputs), [output], domain=domain, **options))
        return output

    def _embeddings(self) -> str:
        # One segment only, so that its embedding is added to the positions once and for all.
        segment = self.weights["embeddings.token_type_embeddings.weight"][0]
        places = self._constant("places", self.weights["embeddings.position_embeddings.weight"] + segment)
        tokens = self._constant("embeddings.word_embeddings.weight")
        self._add("Gather", [tokens, "ids"], "token")
        self._add("Shape", ["ids"], "length", start=1, end=2)
        self._add("Slice", [places, self._constant("zero", np.array([0])), "length"], "place")
        self._add("Add", ["token", "place"], "embedded")
        norm = [self._constant(f"embeddings.LayerNorm.{part}") for part in ("weight", "bias")]
        return self._add(
            "LayerNormalization", ["embedded", *norm], "input", axis=-1, epsilon=self.shape.epsilon
        )

    def _layer(self, layer: int, state: str) -> str:
        here = f"encoder.layer.{layer}"
        parts = [f"{here}.attention.self.{part}" for part in ("query", "key", "value")]
        matrix = np.concatenate([self.weights[f"{part}.weight"].T for part in parts], axis=1)
        bias = np.concatenate([self.weights[f"{part}.bias"] for part in parts])
        fused = [self._constant(f"{here}.qkv", matrix), self._constant(f"{here}.qkv_bias", bias)]
        inputs = [state, *fused, "mask"]
        mixed = self._add("Attention", inputs, f"{here}.mixed", FUSED, num_heads=self.shape.heads)
        state = self._add_norm(f"{here}.attention.output", mixed, state)
        inner = self._product(f"{here}.intermediate.dense", state)
        inner_bias = self._constant(f"{here}.intermediate.dense.bias")
        inner = self._add("BiasGelu", [inner, inner_bias], f"{here}.gelu", FUSED)
        return self._add_norm(f"{here}.output", inner, state)

    def _product(self, name: str, state: str) -> str:
        """The matrix product of a dense layer; the operator that follows adds its bias."""
        matrix = self._constant(f"{name}.matrix", self.weights[f"{name}.weight"].T)
        return self._add("MatMul", [state, matrix], f"{name}.product")

    def _add_norm(self, name: str, state: str, skip: str) -> str:
        """A dense layer, the residual connection and its layer norm."""
        product = self._product(f"{name}.dense", state)
        parts = ("LayerNorm.weight", "LayerNorm.bias", "dense.bias")
        inputs = [product, skip, *(self._constant(f"{name}.{part}") for part in parts)]
        return self._add(
            "SkipLayerNormalization", inputs, f"{name}.normed", FUSED, epsilon=self.shape.epsilon
        )


class BertSession:
    """A BERT model ready to run, on at most `threads` threads (all cores by default)."""

    def __init__(self, weights_path: Path, shape: BertShape, threads: int | None = None) -> None:
        import onnxruntime
        from safetensors.numpy import load_file

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads or 0
        options.inter_op_num_threads = 1
        # Idle threads sleep: spinning ones slow down whatever runs beside an indexing process.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        # No arena: it would keep the largest batch's memory for the life of the process.
        options.enable_cpu_mem_arena = False
        model = BertGraph(load_file(weights_path), shape).serialized()
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def states(self, ids: NDArray[np.int64], mask: NDArray[np.int32]) -> Array:
        """Runs a batch `(batch, length)`: the last hidden states `(batch, length, hidden)`."""
        states: Array = self._session.run(["states"], {"ids": ids, "mask": mask})[0]
        return states
