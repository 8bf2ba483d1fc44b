//! Families of models that a script can name, with their parameters.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::Arc;

use perf_models::{
    Activation, Attention, AttentionMask, Category, Channels, Convolution, CrossEntropy, Family, Gemm,
    GemmSizes, GroupedGemm, MaskAlignment, Normalization, NormalizationBackward, NormalizationKind,
    PerfModel, Statistics, Tensor, Value, element_size, precision,
};

type Build = fn(&Parameters<'_>) -> Result<Arc<dyn PerfModel>, String>;

/// A family with the parameters it takes.
pub(crate) struct ModelFamily {
    /// The name in scripts.
    name: &'static str,
    /// The parameters, required ones first, with blanks between them.
    parameters: &'static str,
    /// How many are required.
    required: usize,
    pub(crate) family: Family,
    pub(crate) category: Category,
    build: Build,
}

/// Every family that a script can name.
const FAMILIES: &[ModelFamily] = &[
    ModelFamily {
        name: "gemm",
        parameters: "m n k dtype batch bias dtype_b dtype_out activation",
        required: 4,
        family: Family::Gemm,
        category: Category::Gemm,
        build: gemm,
    },
    ModelFamily {
        name: "grouped_gemm",
        parameters: "m n k groups dtype dtype_out",
        required: 5,
        family: Family::GroupedGemm,
        category: Category::GroupedGemmForward,
        build: grouped_gemm,
    },
    ModelFamily {
        name: "attention",
        parameters: "batch query_length query_heads head_dim dtype key_length key_heads \
                  value_head_dim key_dtype causal top_left window_left window_right \
                  recomputes_scores",
        required: 5,
        family: Family::Sdpa,
        category: Category::SdpaForward,
        build: attention,
    },
    ModelFamily {
        name: "convolution",
        parameters: "shape filter_shape dtype stride padding dilation transposed \
                  output_padding groups bias",
        required: 3,
        family: Family::Conv,
        category: Category::ConvForward,
        build: convolution,
    },
    ModelFamily {
        name: "normalization",
        parameters: "shape dtype channels groups affine bias training kind",
        required: 2,
        family: Family::Normalization,
        category: Category::NormForward,
        build: |given| Ok(Arc::new(normalization(given)?)),
    },
    ModelFamily {
        name: "normalization_backward",
        parameters: "shape dtype channels groups affine bias training kind output_mask",
        required: 2,
        family: Family::Normalization,
        category: Category::NormBackward,
        build: normalization_backward,
    },
    ModelFamily {
        name: "cross_entropy",
        parameters: "shape dtype",
        required: 2,
        family: Family::CrossEntropy,
        category: Category::CrossEntropyForward,
        build: |given| Ok(Arc::new(CrossEntropy { logits: given.tensor("shape")? })),
    },
];

impl ModelFamily {
    /// The family of this name.
    pub(crate) fn named(name: &str) -> Result<&'static ModelFamily, String> {
        FAMILIES.iter().find(|family| family.name == name).ok_or_else(|| {
            let names: Vec<_> = FAMILIES.iter().map(|family| family.name).collect();
            format!("there is no model family {name:?}; choose one of {}", names.join(", "))
        })
    }

    /// The model with these parameters.
    pub(crate) fn build(&self, given: BTreeMap<String, Value>) -> Result<Arc<dyn PerfModel>, String> {
        let parameters: Vec<&str> = self.parameters.split_whitespace().collect();
        if let Some(unknown) = given.keys().find(|name| !parameters.contains(&name.as_str())) {
            let known = parameters.join(", ");
            return Err(format!("{} has no parameter {unknown:?}; it has {known}", self.name));
        }
        if let Some(missing) = parameters[..self.required].iter().find(|name| !given.contains_key(**name)) {
            return Err(format!("{} needs the parameter {missing:?}", self.name));
        }
        (self.build)(&Parameters { family: self.name, given: &given })
    }
}

/// Parameters as given; `None` counts as not given.
struct Parameters<'p> {
    family: &'static str,
    given: &'p BTreeMap<String, Value>,
}

impl Parameters<'_> {
    fn get(&self, name: &str) -> Option<&Value> {
        self.given.get(name).filter(|value| **value != Value::None)
    }

    fn wrong(&self, name: &str, expected: &str) -> String {
        let mut found = String::new();
        let value = self.given.get(name).unwrap_or(&Value::None);
        if value.write_literal(&mut found).is_err() {
            found.clear();
        }
        format!("{} needs {expected} as {name}, found {found}", self.family)
    }

    /// A parameter that need not be given, as `read` takes it.
    fn optional<'s, T>(
        &'s self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&'s Value) -> Option<T>,
    ) -> Result<Option<T>, String> {
        self.get(name).map(|value| read(value).ok_or_else(|| self.wrong(name, expected))).transpose()
    }

    fn optional_count(&self, name: &str) -> Result<Option<u64>, String> {
        self.optional(name, COUNT, count)
    }

    fn count(&self, name: &str) -> Result<u64, String> {
        self.optional_count(name)?.ok_or_else(|| self.wrong(name, COUNT))
    }

    fn counts(&self, name: &str) -> Result<Option<Vec<u64>>, String> {
        self.optional(name, "a list of whole numbers, 0 or more", |list| all(list, count))
    }

    fn flag(&self, name: &str, otherwise: bool) -> Result<bool, String> {
        Ok(self.optional(name, "True or False", flag)?.unwrap_or(otherwise))
    }

    fn optional_text(&self, name: &str) -> Result<Option<&str>, String> {
        self.optional(name, TEXT, Value::as_text)
    }

    fn text(&self, name: &str) -> Result<&str, String> {
        self.optional_text(name)?.ok_or_else(|| self.wrong(name, TEXT))
    }

    /// An activation function by its name.
    fn activation(&self, name: &str) -> Result<Option<Activation>, String> {
        let Some(text) = self.optional_text(name)? else { return Ok(None) };
        let known = || Activation::all().map(Activation::as_str).collect::<Vec<_>>().join(", ");
        let activation = Activation::from_name(text);
        activation.map(Some).ok_or_else(|| self.wrong(name, &format!("one of {}", known())))
    }

    /// A tensor of the element type `dtype`.
    fn tensor(&self, name: &str) -> Result<Tensor, String> {
        let shape = self.counts(name)?.ok_or_else(|| self.wrong(name, "a shape"))?;
        Ok(Tensor::new(shape, self.text("dtype")?))
    }
}

const COUNT: &str = "a whole number, 0 or more";
const TEXT: &str = "a text";

/// The items of a list, each as `read` takes it; `None` where it takes one of them for none.
fn all<T>(list: &Value, read: fn(&Value) -> Option<T>) -> Option<Vec<T>> {
    list.items()?.iter().map(read).collect()
}

fn flag(value: &Value) -> Option<bool> {
    if let Value::Bool(flag) = value { Some(*flag) } else { None }
}

/// A whole number of at least 0; a division in a script makes floats of them.
fn count(value: &Value) -> Option<u64> {
    match *value {
        Value::Int(number) => u64::try_from(number).ok(),
        Value::Float(number) if number >= 0.0 && number.fract() == 0.0 && number < 2_f64.powi(63) => {
            Some(number as u64)
        }
        _ => None,
    }
}

fn gemm(given: &Parameters<'_>) -> Result<Arc<dyn PerfModel>, String> {
    let dtype = given.text("dtype")?;
    let [b, out] = [given.optional_text("dtype_b")?, given.optional_text("dtype_out")?]
        .map(|name| name.unwrap_or(dtype));
    let sizes = || {
        let (a, b, output) = (element_size(dtype)?, element_size(b)?, element_size(out)?);
        Ok(GemmSizes { a, b, bias: output, output, scales: 0.0 })
    };
    Ok(Arc::new(Gemm {
        batch: given.optional_count("batch")?.unwrap_or(1),
        m: given.count("m")?,
        n: given.count("n")?,
        k: given.count("k")?,
        addend: None,
        bias: given.flag("bias", false)?,
        activation: given.activation("activation")?,
        sizes: sizes(),
        precision: precision(dtype),
    }))
}

fn grouped_gemm(given: &Parameters<'_>) -> Result<Arc<dyn PerfModel>, String> {
    let dtype = given.text("dtype")?;
    Ok(Arc::new(GroupedGemm {
        m: given.count("m")?,
        k: given.count("k")?,
        n: given.count("n")?,
        groups: given.count("groups")?,
        input_type: dtype.to_owned(),
        output_type: given.optional_text("dtype_out")?.unwrap_or(dtype).to_owned(),
    }))
}

fn attention(given: &Parameters<'_>) -> Result<Arc<dyn PerfModel>, String> {
    let dtype = given.text("dtype")?;
    let [query_length, query_heads, head_dim] =
        [given.count("query_length")?, given.count("query_heads")?, given.count("head_dim")?];
    Ok(Arc::new(Attention {
        batch: given.count("batch")?,
        query_length,
        query_heads,
        key_length: given.optional_count("key_length")?.unwrap_or(query_length),
        key_heads: given.optional_count("key_heads")?.unwrap_or(query_heads),
        head_dim,
        value_head_dim: given.optional_count("value_head_dim")?.unwrap_or(head_dim),
        mask: AttentionMask {
            causal: given.flag("causal", false)?,
            alignment: match given.flag("top_left", false)? {
                true => MaskAlignment::TopLeft,
                false => MaskAlignment::BottomRight,
            },
            window_left: given.optional_count("window_left")?,
            window_right: given.optional_count("window_right")?,
        },
        recomputes_scores: given.flag("recomputes_scores", true)?,
        query_type: dtype.to_owned(),
        key_type: given.optional_text("key_dtype")?.unwrap_or(dtype).to_owned(),
        ..Attention::default()
    }))
}

fn convolution(given: &Parameters<'_>) -> Result<Arc<dyn PerfModel>, String> {
    let input = given.tensor("shape")?;
    let spatial = input.shape.len().saturating_sub(2);
    let setting =
        |name, otherwise| Ok::<_, String>(given.counts(name)?.unwrap_or_else(|| vec![otherwise; spatial]));
    Ok(Arc::new(Convolution {
        filter: given.tensor("filter_shape")?,
        bias: given.flag("bias", false)?,
        stride: setting("stride", 1)?,
        padding: setting("padding", 0)?,
        dilation: setting("dilation", 1)?,
        transposed: given.flag("transposed", false)?,
        output_padding: setting("output_padding", 0)?,
        groups: given.optional_count("groups")?.unwrap_or(1),
        input_strides: None,
        filter_strides: None,
        input,
    }))
}

fn normalization(given: &Parameters<'_>) -> Result<Normalization, String> {
    let input = given.tensor("shape")?;
    let all = given.optional_count("channels")?.or(input.shape.last().copied()).unwrap_or(1);
    let channels = match given.optional_count("groups")? {
        None => Channels::Count(all),
        Some(groups) => {
            let groups = NonZeroU64::new(groups).ok_or_else(|| given.wrong("groups", "at least 1"))?;
            Channels::Group { all, groups }
        }
    };
    let kind = match given.optional_text("kind")?.unwrap_or("mean_and_variance") {
        "mean_and_variance" => NormalizationKind::MeanAndVariance,
        "rms" => NormalizationKind::Rms,
        "modulated" => NormalizationKind::Modulated,
        _ => return Err(given.wrong("kind", "\"mean_and_variance\", \"rms\" or \"modulated\"")),
    };
    Ok(Normalization {
        statistics: Statistics::by_sizes(&input, all),
        input,
        input_strides: None,
        channels,
        affine: given.flag("affine", true)?,
        bias: given.flag("bias", true)?,
        training: given.flag("training", true)?,
        kind,
        ..Normalization::default()
    })
}

fn normalization_backward(given: &Parameters<'_>) -> Result<Arc<dyn PerfModel>, String> {
    let forward = normalization(given)?;
    let output_mask = given.optional("output_mask", "a list of True and False", |mask| all(mask, flag))?;
    let output_mask =
        output_mask.unwrap_or_else(|| vec![true, forward.affine, forward.affine && forward.bias]);
    Ok(Arc::new(NormalizationBackward { forward, output_mask }))
}
