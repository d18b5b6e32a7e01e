// The fault panel as a view of its own; a sequence opens the same panel in a drawer.

import { FaultPanel } from "./fault_rows";
import { shows } from "./panel";

export default shows(FaultPanel);
