//! Models of operations whose sizes are given.

use perf_models::{
    Attention, AttentionMask, BinaryElementwise, CausalConvolution, Channels, Convolution, CrossEntropy,
    Gemm, GemmSizes, GroupedGemm, Normalization, NormalizationBackward, NormalizationKind, PerfModel,
    Reduction, RotaryEmbedding, Tensor, UnaryElementwise, number_size,
};

use crate::arguments::model::{
    BinaryArguments, CausalConv1dArguments, ConvArguments, CrossEntropyArguments, DataType, GemmArguments,
    GroupedGemmArguments, NormArguments, ReduceArguments, RopeArguments, SdpaArguments, UnaryArguments,
};
use crate::error::Failure;

type Model = Box<dyn PerfModel>;

/// Sizes that make a model.
pub(super) trait Sizes {
    /// The model for operands of an element type.
    ///
    /// # Errors
    ///
    /// When sizes do not fit each other.
    fn model(&self, dtype: DataType) -> Result<Model, Failure>;

    /// The model that has the figures of the backward pass: another where that is an operator of its own.
    ///
    /// # Errors
    ///
    /// As [`Sizes::model`].
    fn backward_model(&self, dtype: DataType) -> Result<Model, Failure> {
        self.model(dtype)
    }
}

/// The element type as PyTorch records it. Only matrix multiplications know how numbers of four bits lie.
fn recorded(data_type: DataType) -> Result<&'static str, Failure> {
    match data_type {
        DataType::Fp4 => Err(Failure::Sizes { detail: "of the models only gemm knows fp4".into() }),
        whole_bytes => Ok(whole_bytes.recorded_name()),
    }
}

fn optional(data_type: Option<DataType>) -> Result<Option<String>, Failure> {
    data_type.map(|data_type| recorded(data_type).map(Into::into)).transpose()
}

/// What a multiplication writes unless it is said: nobody goes on in numbers of eight bits or fewer.
fn usual_output(operands: DataType) -> DataType {
    match operands {
        DataType::Fp8 | DataType::Fp4 => DataType::Bf16,
        same => same,
    }
}

fn bytes_of(data_type: DataType) -> Result<f64, Failure> {
    let name = data_type.recorded_name();
    number_size(name).ok_or_else(|| Failure::Sizes { detail: format!("{name} has no known size") })
}

impl Sizes for GemmArguments {
    fn model(&self, dtype: DataType) -> Result<Model, Failure> {
        let operand = bytes_of(dtype)?;
        let output = bytes_of(self.output_dtype.unwrap_or(usual_output(dtype)))?;
        let sizes = GemmSizes { bias: output, output, ..GemmSizes::uniform(operand) };
        let gemm = Gemm::new(self.m, self.n, self.k, dtype.recorded_name());
        let activation = self.activation;
        Ok(Box::new(Gemm { batch: self.batch, bias: self.bias, activation, sizes: Ok(sizes), ..gemm }))
    }
}

impl Sizes for GroupedGemmArguments {
    fn model(&self, dtype: DataType) -> Result<Model, Failure> {
        let output = self.output_dtype.unwrap_or(usual_output(dtype));
        Ok(Box::new(GroupedGemm {
            m: self.m,
            n: self.n,
            k: self.k,
            groups: self.groups,
            input_type: recorded(dtype)?.into(),
            output_type: recorded(output)?.into(),
        }))
    }
}

impl Sizes for SdpaArguments {
    fn model(&self, dtype: DataType) -> Result<Model, Failure> {
        let key_heads = self.kv_heads.unwrap_or(self.heads);
        if key_heads == 0 || !self.heads.is_multiple_of(key_heads) {
            let detail = format!("--kv-heads {key_heads} does not divide --heads {}", self.heads);
            return Err(Failure::Sizes { detail });
        }
        let element_type = recorded(dtype)?;
        Ok(Box::new(Attention {
            batch: self.batch,
            query_length: self.q_len,
            query_heads: self.heads,
            key_length: self.kv_len.unwrap_or(self.q_len),
            key_heads,
            head_dim: self.head_dim,
            value_head_dim: self.v_head_dim.unwrap_or(self.head_dim),
            mask: AttentionMask { causal: self.causal, ..AttentionMask::default() },
            packed: None,
            recomputes_scores: true,
            query_type: element_type.into(),
            key_type: element_type.into(),
        }))
    }
}

impl ConvArguments {
    /// Whether the filters are made for the input's channels; both have their channels, as they have extents.
    fn check_channels(&self) -> Result<(), Failure> {
        let channels = self.input[1];
        let expected = match self.transposed {
            true => Some(self.filter[0]),
            false => self.filter[1].checked_mul(self.groups),
        };
        if expected == Some(channels) {
            return Ok(());
        }
        let detail = match self.transposed {
            true => format!("filters for {} channels, an input of {channels}", self.filter[0]),
            false => {
                let (of_group, groups) = (self.filter[1], self.groups);
                format!(
                    "filters for {of_group} channels a group and {groups} of --groups, an input of {channels}"
                )
            }
        };
        Err(Failure::Sizes { detail })
    }
}

impl Sizes for ConvArguments {
    fn model(&self, dtype: DataType) -> Result<Model, Failure> {
        let extents = self.input.len().saturating_sub(2);
        // One number stands for all extents.
        let each = |numbers: &[u64]| match numbers {
            [one] => vec![*one; extents],
            several => several.to_vec(),
        };
        let element_type = recorded(dtype)?;
        let convolution = Convolution {
            input: Tensor::new(self.input.clone(), element_type),
            filter: Tensor::new(self.filter.clone(), element_type),
            bias: self.bias,
            stride: each(&self.stride),
            padding: each(&self.padding),
            dilation: each(&self.dilation),
            transposed: self.transposed,
            output_padding: each(&self.output_padding),
            groups: self.groups,
            input_strides: None,
            filter_strides: None,
        };
        convolution.output_shape().map_err(|undefined| Failure::Sizes { detail: undefined.to_string() })?;
        self.check_channels()?;
        Ok(Box::new(convolution))
    }
}

impl Sizes for UnaryArguments {
    fn model(&self, dtype: DataType) -> Result<Model, Failure> {
        Ok(Box::new(UnaryElementwise {
            input: Tensor::new(self.shape.clone(), recorded(dtype)?),
            output_type: optional(self.output_dtype)?,
            ..UnaryElementwise::default()
        }))
    }
}

impl Sizes for BinaryArguments {
    fn model(&self, dtype: DataType) -> Result<Model, Failure> {
        let operand = |shape: &Vec<u64>| Ok::<_, Failure>(Tensor::new(shape.clone(), recorded(dtype)?));
        let model = BinaryElementwise {
            inputs: [operand(&self.shape)?, operand(self.other_shape.as_ref().unwrap_or(&self.shape))?],
            output_type: optional(self.output_dtype)?,
            ..BinaryElementwise::default()
        };
        model.output_shape().map_err(|undefined| Failure::Sizes { detail: undefined.to_string() })?;
        Ok(Box::new(model))
    }
}

impl NormArguments {
    fn normalization(&self, dtype: DataType) -> Result<Normalization, Failure> {
        let input = Tensor::new(self.shape.clone(), recorded(dtype)?);
        let channels = self.channels.or(self.shape.last().copied()).unwrap_or(1);
        if input.elements() % channels as f64 != 0.0 {
            let detail = format!("--channels {channels} does not divide the {} elements", input.elements());
            return Err(Failure::Sizes { detail });
        }
        Ok(Normalization {
            input,
            channels: Channels::Count(channels),
            affine: !self.no_weight,
            bias: self.bias,
            training: !self.inference,
            kind: if self.rms { NormalizationKind::Rms } else { NormalizationKind::MeanAndVariance },
            ..Normalization::default()
        })
    }
}

impl Sizes for NormArguments {
    fn model(&self, dtype: DataType) -> Result<Model, Failure> {
        Ok(Box::new(self.normalization(dtype)?))
    }

    fn backward_model(&self, dtype: DataType) -> Result<Model, Failure> {
        let forward = self.normalization(dtype)?;
        let output_mask = vec![true, forward.affine, forward.bias];
        Ok(Box::new(NormalizationBackward { forward, output_mask }))
    }
}

impl Sizes for ReduceArguments {
    fn model(&self, dtype: DataType) -> Result<Model, Failure> {
        let mut output_shape = self.shape.clone();
        match &self.dim {
            None => output_shape.fill(1),
            Some(dimensions) => {
                for &dimension in dimensions {
                    let detail = || format!("--shape has no dimension {dimension}");
                    *output_shape.get_mut(dimension).ok_or_else(|| Failure::Sizes { detail: detail() })? = 1;
                }
            }
        }
        Ok(Box::new(Reduction {
            input: Tensor::new(self.shape.clone(), recorded(dtype)?),
            output_shape,
            kind: self.kind,
            ..Reduction::default()
        }))
    }
}

impl Sizes for RopeArguments {
    fn model(&self, dtype: DataType) -> Result<Model, Failure> {
        let key_heads = self.kv_heads.unwrap_or(self.heads);
        let rotated = self
            .heads
            .checked_add(key_heads)
            .and_then(|heads| heads.checked_mul(self.tokens)?.checked_mul(self.rope_dim))
            .ok_or_else(|| Failure::Sizes { detail: "there are too many elements to count".into() })?;
        let shown = |count: u64| i64::try_from(count).unwrap_or(i64::MAX).into();
        Ok(Box::new(RotaryEmbedding {
            rotated_elements: rotated,
            element_type: Some(recorded(dtype)?.into()),
            dimensions: vec![
                ("tokens", shown(self.tokens)),
                ("H_Q", shown(self.heads)),
                ("H_KV", shown(key_heads)),
                ("rope_dim", shown(self.rope_dim)),
            ],
        }))
    }
}

impl Sizes for CrossEntropyArguments {
    fn model(&self, dtype: DataType) -> Result<Model, Failure> {
        Ok(Box::new(CrossEntropy { logits: Tensor::new([self.tokens, self.classes], recorded(dtype)?) }))
    }
}

impl Sizes for CausalConv1dArguments {
    fn model(&self, dtype: DataType) -> Result<Model, Failure> {
        Ok(Box::new(CausalConvolution {
            batch: self.batch,
            channels: self.channels,
            sequence_length: self.seq_len,
            filter_length: self.taps,
            bias: self.bias,
            element_type: recorded(dtype)?.into(),
        }))
    }
}
