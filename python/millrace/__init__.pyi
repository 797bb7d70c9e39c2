from millrace._train import Context as Context
from millrace._training import Batch as Batch
from millrace._training import Checkpoint as Checkpoint
from millrace._training import Dataset as Dataset
from millrace._training import Error as Error
from millrace._training import Evaluation as Evaluation
from millrace._training import Hook as Hook
from millrace._training import Job as Job
from millrace._training import Metric as Metric
from millrace._training import Output as Output
from millrace._training import Predictor as Predictor
from millrace._training import Report as Report
from millrace._training import Result as Result
from millrace._training import Rows as Rows
from millrace._training import Step as Step
from millrace._training import Table as Table
from millrace._training import Window as Window
from millrace._training import evaluate as evaluate
from millrace._training import predict as predict
from millrace._training import train as train

__version__: str
