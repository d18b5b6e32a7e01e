// What at least two pictures use: sent to a page once, and imported by each picture as "kafkalab:common".

export * from "./run";
export * from "./unpack";
export * from "./walk";
export * from "./presses";
export * from "./roles";
export * from "./lit";
export * from "./panel";
export * from "./fault_rows";
export * from "./log_cells";
export * from "./signs";
export * from "./sequence_verdict";
export * from "./sequence_logs";
export * from "./stepper";
export * from "./view";
export * from "./reveal";
