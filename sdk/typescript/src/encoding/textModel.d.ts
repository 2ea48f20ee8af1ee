/** How often one byte follows another: the file that the Python package ships. */
declare module "*/public_text_model.json" {
  const pairs: Record<string, Record<string, number>>;
  export default pairs;
}
