(function_declaration name: (identifier) @name) @definition.function
(function_declaration name: (identifier) @name body: (_) @body) @definition.function

(method_declaration
  receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @receiver
    (generic_type type: (type_identifier) @receiver)
    (pointer_type [(type_identifier) @receiver (generic_type type: (type_identifier) @receiver)])
  ]))
  name: (field_identifier) @name
  body: (_) @body) @definition.method

(type_spec name: (_) @name type: [(struct_type) (interface_type)] @body) @definition.class
(type_spec name: (_) @name type: (_) @body) @definition.class.long
(type_alias name: (_) @name type: (_) @body) @definition.class.long
(var_spec name: (identifier) @name value: (expression_list (func_literal body: (_) @body))) @definition.function.long

(field_declaration name: (field_identifier) @name) @definition.field
(interface_type (method_elem name: (field_identifier) @name) @definition.member)

[(type_declaration) (var_declaration)] @wrapper

(source_file [
  (const_declaration (const_spec (identifier) @name) @definition.constant)
  (var_declaration (var_spec name: (identifier) @name) @definition.constant)
  (var_declaration (var_spec_list (var_spec name: (identifier) @name) @definition.constant))
])

(call_expression function: (identifier) @name) @reference.call
(call_expression function: (selector_expression field: (field_identifier) @name)) @reference.call
(call_expression function: (selector_expression
  operand: [(identifier) @receiver (selector_expression field: (field_identifier) @receiver)]
  field: (field_identifier) @name)) @reference.call
(type_conversion_expression type: (generic_type type: (type_identifier) @name)) @reference.call
(composite_literal type: [
  (type_identifier) @name
  (qualified_type name: (type_identifier) @name)
  (generic_type type: (type_identifier) @name)
]) @reference.call
