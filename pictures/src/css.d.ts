// A style sheet is imported by the module whose markup it styles: the bundler puts it into the part's sheet.
declare module "*.css";
