// The fault panel as a view of its own; a sequence opens the same panel in a drawer.

import { openFaults } from "./fault_rows";

export default { render: ({ model, el }) => openFaults(model, el) };
