([(jsx_opening_element name: (identifier) @name) (jsx_self_closing_element name: (identifier) @name)] @reference.call
  (#match? @name "^[A-Z]"))
