//! A script as a part of an analysis.

use std::error::Error;

use perf_models::{OpCall, Undefined};
use trace2tree::TraceTree;

use super::{Extension, ExtensionNotice};
use crate::analysis_extension::{AnalysisExtension, ExtensionModel, TreeChanges};
use crate::notice::Notice;

impl AnalysisExtension for Extension {
    fn change_tree(&self, tree: &mut TraceTree) -> Result<TreeChanges, Box<dyn Error + Send + Sync>> {
        let done = self.postprocess(tree)?;
        let notices = done.notices.into_iter().map(Notice::from).collect();
        Ok(TreeChanges { notices, attributes: done.attributes })
    }

    fn has_model(&self, operator: &str) -> bool {
        Extension::has_model(self, operator)
    }

    fn model(&self, call: &OpCall<'_>) -> Option<Result<ExtensionModel, Undefined>> {
        Extension::model(self, call)
    }

    fn category(&self, operator: &str) -> Option<&str> {
        Extension::category(self, operator)
    }

    fn sheets(&self, operator: &str) -> Vec<&str> {
        Extension::sheets(self, operator).collect()
    }

    fn notices(&self) -> Vec<Notice> {
        Extension::notices(self).into_iter().map(Notice::from).collect()
    }
}

impl From<ExtensionNotice> for Notice {
    fn from(notice: ExtensionNotice) -> Self {
        match notice {
            ExtensionNotice::WithoutEffect { .. } => {
                Notice::ExtensionWithoutEffect { reason: notice.to_string() }
            }
            ExtensionNotice::Printed { .. } => Notice::ExtensionSays { text: notice.to_string() },
        }
    }
}
